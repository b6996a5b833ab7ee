import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** Forwards bytes to a server and breaks connections on demand. */
export class FrailProxy {
  /** The target of new connections. */
  target: string;
  readonly #sockets = new Set<Socket>();
  readonly #server = createServer((socket) => this.#pass(socket));

  constructor(target: string) {
    this.target = target;
  }

  /** Starts to listen. Returns the URL of the target through this proxy. */
  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Resets every connection. */
  cut(): void {
    for (const socket of this.#sockets) socket.resetAndDestroy();
  }

  close(): void {
    this.cut();
    this.#server.close();
  }

  #pass(socket: Socket): void {
    const onward = connect(Number(new URL(this.target).port), "127.0.0.1");
    for (const each of [socket, onward]) {
      this.#sockets.add(each);
      each.on("error", () => {});
      each.on("close", () => {
        this.#sockets.delete(each);
        socket.destroy();
        onward.destroy();
      });
    }
    socket.pipe(onward).pipe(socket);
  }
}
