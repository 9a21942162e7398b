import react from "@vitejs/plugin-react";
import { createServer, defineConfig, type Plugin } from "vite";

/** Puts the first screen into index.html as it will be drawn, so that it is seen before any script has come. */
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

export default defineConfig({
  plugins: [react(), firstScreen()],
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
    rolldownOptions: {
      output: {
        codeSplitting: {
          groups: [
            // What seldom changes, and what all chunks share.
            { name: "react", test: /node_modules\/(react|react-dom|scheduler)\/|rolldown\/runtime/ },
            { name: "base", test: /src\/(state\/store|api\/(http|threads)|turn\/(view|stored|outline|attachments|plan))\.ts$/ },
          ],
        },
      },
    },
  },
  // `npm run dev` beside `wrangler dev`: the page reloads at once, the API is the real one.
  server: { proxy: { "/api": "http://127.0.0.1:8787" } },
});
