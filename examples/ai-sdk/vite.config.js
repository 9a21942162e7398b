const target = process.env.ESPALIER_URL ?? "http://localhost:8787";

// The service knows its own origin and those in ALLOWED_ORIGINS: here the development server speaks for the page.
export default { server: { proxy: { "/api": { target, changeOrigin: true, headers: { origin: target } } } } };
