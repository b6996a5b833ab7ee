import { type AddressInfo, createConnection, createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";
import type { PostgresServer } from "./server.js";

/** An address that leads to one of several servers, as a proxy or a name of the network does. */
export class Switch {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #target: PostgresServer;

  private constructor(target: PostgresServer) {
    this.#target = target;
    this.#server = createServer((socket) => {
      const { folder } = this.#target;
      const other = createConnection(join(folder, ".s.PGSQL.5432"));
      socket.pipe(other).pipe(socket);
      for (const [each, peer] of [
        [socket, other],
        [other, socket],
      ] as const) {
        this.#sockets.add(each);
        each.on("error", () => peer.destroy());
        each.on("close", () => {
          this.#sockets.delete(each);
          peer.destroy();
        });
      }
    });
  }

  static async to(target: PostgresServer): Promise<Switch> {
    const made = new Switch(target);
    await new Promise<void>((resolve) => made.#server.listen(0, "127.0.0.1", resolve));
    return made;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Address of the database. */
  get url(): string {
    return `postgres://postgres@127.0.0.1:${this.port}/postgres`;
  }

  /** Leads new connections to another server, and ends the others if asked to. */
  turn(target: PostgresServer, { cut = true }: { readonly cut?: boolean } = {}): void {
    this.#target = target;
    if (cut) this.cut();
  }

  /** Ends all connections. */
  cut(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  async close(): Promise<void> {
    this.cut();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
