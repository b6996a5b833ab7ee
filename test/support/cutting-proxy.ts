import { connect, createServer, type Server, type Socket } from "node:net";

/** When one connection is cut, by what comes first. */
export interface Cut {
  /** So many bytes of the answers get through. */
  readonly bytes?: number;
  /** So many milliseconds after the first byte of an answer: a slow machine cuts no connection before that. */
  readonly ms?: number;
}

export interface CuttingOptions {
  /** Cut of the nth connection, counted from 1. Default: none. */
  readonly plan?: (nth: number) => Cut;
  /**
   * Maximum number of cuts. A connection that ends before its cut leaves the cut to a later one. Default: any number.
   */
  readonly most?: number;
  /** Number of cuts after which the proxy stops listening for a while. Default: never. */
  readonly refuseEvery?: number;
  /** Duration of that pause, in milliseconds. Default 30. */
  readonly refuseMs?: number;
}

/**
 * A proxy of TCP between a client and a server, which cuts connections at the byte that it is told: in the middle of headers and frames,
 * before the first byte, with a reset or with an end. Where it goes may change while it runs, as when a server starts anew.
 */
export class CuttingProxy {
  cuts = 0;
  refusals = 0;
  /** Bytes of answers that got through. */
  bytes = 0;
  targetPort: number;
  /** Requests arrive, and nothing of their answers comes back. */
  isMute = false;
  readonly #options: CuttingOptions;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  /** Connections that were made. */
  connections = 0;
  /** So many of them are silent. */
  #silent = 0;
  #port = 0;
  #isClosed = false;

  private constructor(targetPort: number, options: CuttingOptions) {
    this.targetPort = targetPort;
    this.#options = options;
    this.#server = createServer((socket) => this.#connection(socket));
  }

  /** Opens one on a free port of the loopback interface. */
  static async open(targetPort: number, options: CuttingOptions = {}): Promise<CuttingProxy> {
    const proxy = new CuttingProxy(targetPort, options);
    await proxy.#listen();
    return proxy;
  }

  get port(): number {
    return this.#port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  /** Stops all traffic on open connections, like a broken router. */
  silence(): void {
    this.#silent = this.connections;
  }

  /** Cuts all connections that are open now. */
  cutAll(): void {
    for (const socket of this.#sockets) socket.resetAndDestroy();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.cutAll();
    if (this.#server.listening) await new Promise((resolve) => this.#server.close(resolve));
  }

  get #hasCutAll(): boolean {
    return this.cuts >= (this.#options.most ?? Number.POSITIVE_INFINITY);
  }

  #listen(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#server.once("error", reject);
      this.#server.listen(this.#port, "127.0.0.1", () => {
        this.#server.off("error", reject);
        const address = this.#server.address();
        if (typeof address === "object" && address !== null) this.#port = address.port;
        resolve();
      });
    });
  }

  #connection(client: Socket): void {
    const server = connect(this.targetPort, "127.0.0.1");
    const nth = ++this.connections;
    const cut = this.#hasCutAll ? undefined : this.#options.plan?.(nth);
    let left = cut?.bytes ?? Number.POSITIVE_INFINITY;
    const end = (): void => {
      left = Number.POSITIVE_INFINITY;
      clearTimeout(timer);
      if (!client.destroyed && !this.#hasCutAll) this.#cut(client, server);
    };
    let timer: NodeJS.Timeout | undefined;
    client.once("close", () => clearTimeout(timer));
    this.#track(client, server);
    this.#track(server, client);
    client.on("data", (bytes) => {
      if (nth <= this.#silent) return;
      if (!server.write(bytes)) client.pause();
    });
    server.on("drain", () => client.resume());
    server.on("data", (bytes) => {
      if (this.isMute || nth <= this.#silent) return;
      if (cut?.ms !== undefined) timer ??= setTimeout(end, cut.ms);
      if (this.#hasCutAll) left = Number.POSITIVE_INFINITY;
      const through = left < bytes.length ? bytes.subarray(0, left) : bytes;
      left -= through.length;
      this.bytes += through.length;
      if (!client.write(through)) server.pause();
      if (left > 0 || through.length === bytes.length) return;
      server.pause();
      end();
    });
    client.on("drain", () => server.resume());
    if (left === 0) end();
  }

  #cut(client: Socket, server: Socket): void {
    this.cuts++;
    server.destroy();
    // A normal end delivers the bytes already written; a reset may discard them.
    if (this.cuts % 2 === 0) client.destroySoon();
    else client.resetAndDestroy();
    const { refuseEvery, refuseMs = 30 } = this.#options;
    if (refuseEvery === undefined || this.cuts % refuseEvery !== 0) return;
    this.refusals++;
    this.#refuse(refuseMs);
  }

  #refuse(ms: number): void {
    this.#server.close();
    setTimeout(() => {
      if (!this.#isClosed) this.#listen().catch(() => this.#refuse(ms));
    }, ms);
  }

  #track(socket: Socket, other: Socket): void {
    this.#sockets.add(socket);
    socket.on("error", () => {});
    socket.on("close", () => {
      this.#sockets.delete(socket);
      other.destroySoon();
    });
  }
}
