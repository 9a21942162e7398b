import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

export default defineConfig({
  plugins: [react()],
  build: {
    target: "es2022",
    // Every asset is a file of this origin: the Content-Security-Policy (public/_headers) allows
    // neither inline code nor data: URLs.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
  // `npm run dev` beside `wrangler dev`: the page reloads at once, the API is the real one.
  server: { proxy: { "/api": "http://127.0.0.1:8787" } },
});
