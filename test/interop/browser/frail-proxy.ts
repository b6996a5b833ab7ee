import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** Passes bytes on to a server, and breaks off when told to, as a network does. */
export class FrailProxy {
  /** Where new connections go to. */
  target: string;
  readonly #sockets = new Set<Socket>();
  readonly #server = createServer((socket) => this.#pass(socket));

  constructor(target: string) {
    this.target = target;
  }

  /** Begins to listen; gives the URL under which the target is reached through it. */
  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Breaks every connection off, without a word to either side. */
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
