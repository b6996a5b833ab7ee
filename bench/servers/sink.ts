/** Takes whatever is sent to it, and answers nothing: what an attacker costs the machine, and not the server. */
import * as net from "node:net";
import { serve } from "./child.js";

const server = net.createServer((socket) => {
  socket.on("error", () => {});
  socket.resume();
});
server.listen(0, "127.0.0.1", () => {
  const { port } = server.address() as net.AddressInfo;
  serve({ http: port, grpc: port });
});
