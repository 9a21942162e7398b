import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

export default defineConfig({
  plugins: [react()],
  resolve: {
    alias: {
      // Its browser version decodes `&amp;` by `innerHTML`, which Trusted Types (public/_headers) forbid: a reply with
      // an entity in it would break the page. The other one has a table.
      "decode-named-character-reference": decodeURIComponent(
        new URL("./node_modules/decode-named-character-reference/index.js", import.meta.url).pathname,
      ),
    },
  },
  build: {
    // Browsers that have `light-dark()` and popovers, since 2024.
    target: ["chrome123", "edge123", "firefox125", "safari17.5"],
    // Every asset is a file of this origin: the Content-Security-Policy (public/_headers) allows
    // neither inline code nor data: URLs.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
  // `npm run dev` beside `wrangler dev`: the page reloads at once, the API is the real one.
  server: { proxy: { "/api": "http://127.0.0.1:8787" } },
});
