import { type AddressInfo, createConnection, createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";
import type { PostgresServer } from "./server.js";

/** The last message of a server's answer to a login. */
const READY = Buffer.from("Z\0\0\0\x05I", "latin1");

/** The connection of a client, and the one to the server to which it leads. */
class Way {
  readonly #client: Socket;
  readonly #onEnd: () => void;
  #server: Socket;
  #login: Buffer = Buffer.alloc(0);

  constructor(client: Socket, target: PostgresServer, onEnd: () => void) {
    this.#client = client;
    this.#onEnd = onEnd;
    this.#server = this.#connect(target);
    client.once("data", (bytes) => (this.#login = bytes));
    client.on("error", () => {}).on("close", () => this.end());
    client.pipe(this.#server).pipe(client);
  }

  /** Leads to another server. The client notices nothing, as behind a pooler. */
  async swap(target: PostgresServer): Promise<void> {
    const [old, server] = [this.#server, this.#connect(target)];
    server.write(this.#login);
    await new Promise<void>((resolve) => {
      let answer = Buffer.alloc(0);
      const onData = (bytes: Buffer): void => {
        answer = Buffer.concat([answer, bytes]);
        if (!answer.subarray(-READY.length).equals(READY)) return;
        server.off("data", onData).pause();
        resolve();
      };
      server.on("data", onData).on("close", resolve);
    });
    this.#server = server;
    this.#client.unpipe(old);
    old.unpipe(this.#client).destroy();
    this.#client.pipe(server).pipe(this.#client);
  }

  end(): void {
    this.#client.destroy();
    this.#server.destroy();
    this.#onEnd();
  }

  #connect(target: PostgresServer): Socket {
    const server = createConnection(join(target.folder, ".s.PGSQL.5432"));
    return server.on("error", () => {}).on("close", () => server === this.#server && this.end());
  }
}

/** An address that leads to one of several servers, as a proxy or a name of the network does. */
export class Switch {
  readonly #server: Server;
  readonly #ways = new Set<Way>();
  #target: PostgresServer;

  private constructor(target: PostgresServer) {
    this.#target = target;
    this.#server = createServer((socket) => {
      const way: Way = new Way(socket, this.#target, () => this.#ways.delete(way));
      this.#ways.add(way);
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

  /** Leads new connections and the others to another server, as a pooler does between two statements. */
  async swap(target: PostgresServer): Promise<void> {
    this.#target = target;
    await Promise.all([...this.#ways].map((way) => way.swap(target)));
  }

  cut(): void {
    for (const way of this.#ways) way.end();
  }

  async close(): Promise<void> {
    this.cut();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
