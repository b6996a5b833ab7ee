import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";

/** Returns a port that was free a moment ago, for servers whose port has to be known beforehand. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0);
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}
