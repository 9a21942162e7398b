// A line to the service that breaks off on command.

import http from "node:http";

/**
 * A line to the service that can be cut: all open connections break off at once, as on a train that enters a tunnel. New
 * connections work.
 */
export async function cuttableLine(base) {
  const target = new URL(base);
  const open = new Set();
  const server = http.createServer((incoming, outgoing) => {
    const { method, url: path, headers } = incoming;
    const upstream = http.request({ host: target.hostname, port: target.port, method, path, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
    });
    upstream.on("error", () => outgoing.destroy());
    outgoing.on("close", () => upstream.destroy());
    incoming.pipe(upstream);
  });
  server.on("connection", (socket) => {
    open.add(socket);
    socket.on("close", () => open.delete(socket));
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}/`,
    cut: () => open.forEach((socket) => socket.destroy()),
    close: () => {
      open.forEach((socket) => socket.destroy());
      server.close();
    },
  };
}
