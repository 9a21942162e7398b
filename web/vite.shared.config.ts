// The build of the public page of a share link, beside that of the chat page. Modules that both pages have would stand in
// chunks of their own if one build made both, and the first load of the chat page would be 3 KB larger.

import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";
import { common } from "./vite.config";

export default defineConfig({
  plugins: [react()],
  resolve: common.resolve,
  publicDir: false,
  build: { ...common.build, emptyOutDir: false, rolldownOptions: { input: "shared.html" } },
});
