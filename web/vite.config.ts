/// <reference types="vitest/config" />
import react from "@vitejs/plugin-react";
import { createServer, defineConfig, type Plugin } from "vite";

/** Puts the first screen into index.html, so that it is seen before the script has come. */
function firstScreen(): Plugin {
  return {
    name: "first-screen",
    apply: "build",
    async transformIndexHtml(html) {
      const server = await createServer({
        configFile: false,
        appType: "custom",
        server: { middlewareMode: true, ws: false, watch: null },
        optimizeDeps: { noDiscovery: true },
        plugins: [react()],
      });
      try {
        const { firstScreen } = await server.ssrLoadModule("/src/prerender.tsx");
        return html.replace('<div id="root"></div>', () => `<div id="root">${firstScreen()}</div>`);
      } finally {
        await server.close();
      }
    },
  };
}

/** What the builds of both pages have in common. */
export const common = {
  resolve: {
    alias: {
      // The version for browsers decodes `&amp;` by `innerHTML`, which Trusted Types (public/_headers) forbid: a reply
      // with an entity would break the page. The other version has a table.
      "decode-named-character-reference": decodeURIComponent(
        new URL("./node_modules/decode-named-character-reference/index.js", import.meta.url).pathname,
      ),
    },
  },
  build: {
    // Browsers since 2024, which have `light-dark()` and popovers.
    target: ["chrome123", "edge123", "firefox125", "safari17.5"],
    // Every asset is a file of this origin: the Content-Security-Policy (public/_headers) forbids inline code and
    // `data:` URLs.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
};

export default defineConfig({
  plugins: [react(), firstScreen()],
  // The tests read the styles as well. The words of refusals are there at once: a chunk comes from the disk, at any time.
  test: { css: true, setupFiles: ["src/errors/en.ts"] },
  resolve: common.resolve,
  build: {
    ...common.build,
    rolldownOptions: {
      output: {
        // The first load has a list of all chunks, and a hash does not compress: six characters of it are enough.
        chunkFileNames: "assets/[name]-[hash:6].js",
        assetFileNames: "assets/[name]-[hash:6][extname]",
        codeSplitting: {
          groups: [
            // `react` seldom changes; all chunks share `base`; panels and settings share `panel`.
            { name: "react", test: /node_modules\/(react|react-dom|scheduler)\/|rolldown\/runtime/ },
            { name: "base", test: /src\/(state\/(drafts|kept|store|save)|api\/(http|threads)|turn\/(view|features|stored|outline|attachments)|feature|en)\.ts$|src\/components\/(Icons\.tsx|focus\.ts)$/ },
            { name: "panel", test: /src\/(components\/(Confirm|DropZone|PagedList|Side)\.tsx|state\/paged\.ts|turn\/measures\.ts)$/ },
          ],
        },
      },
    },
  },
  // `npm run dev` beside `wrangler dev`: the page reloads on each change, and the API is the real one.
  server: { proxy: { "/api": "http://127.0.0.1:8787" } },
});
