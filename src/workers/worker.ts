import type { Socket } from "node:net";
import type { Bound, ConnectionSource, ListenAddress } from "../http/node/listening.js";
import { sharedLimits } from "./limits.js";
import type { FromWorker, PortAnswer, PortName, ToWorker, WorkerRole } from "./messages.js";
import { SignalSender } from "./signal-sender.js";

/** Answers a question of another worker. */
type Answerer = (value: unknown) => unknown;

/** Actions of a worker that the primary process asks for. */
export interface WorkerOrders {
  /** Ends after others have taken over new connections. */
  readonly replace: () => void;
  /** Reads files again. */
  readonly reload: () => void;
}

/** This process as a worker: its link to the primary process, and through it to the other workers. */
export class Worker {
  readonly role: WorkerRole;
  readonly sharedLimits: readonly string[] = sharedLimits;
  readonly #process: NodeJS.Process;
  readonly #signals = new SignalSender((message, sent) => this.#send(message, sent));
  readonly #accepting = new Map<PortName, (socket: Socket) => void>();
  readonly #opening = new Map<PortName, (answer: PortAnswer) => void>();
  readonly #answerers = new Map<string, Answerer>();
  readonly #asked = new Map<number, (values: readonly unknown[]) => void>();
  #asks = 0;
  #onStore: (answer: object) => void = () => {};
  #hearSignal: (text: string) => void = () => {};
  #onEnded: (holders: readonly string[]) => void = () => {};
  #ended: readonly string[] = [];
  #isReplaced = false;
  #isAlone = false;
  #isEnding = false;
  #orders: WorkerOrders | undefined;

  /** @param channel this process, which a primary process has started */
  constructor(role: WorkerRole, channel: NodeJS.Process) {
    this.role = role;
    this.#process = channel;
    channel.on("message", (message, socket) => this.#hear(message as ToWorker, socket as Socket | undefined));
    channel.on("disconnect", () => this.#disconnected());
    // The primary process may have ended while this one loaded its code.
    if (!channel.connected) this.#disconnected();
    // The channel must not keep the process alive: if the module never finishes loading, the process exits.
    channel.channel?.unref();
  }

  /** True if this worker ends because another one replaces it. */
  get isReplaced(): boolean {
    return this.#isReplaced;
  }

  /** Starts to follow orders. */
  obey(orders: WorkerOrders): void {
    this.#orders = orders;
    for (const signal of ["SIGTERM", "SIGINT"]) this.#process.on(signal, () => (this.#isEnding = true));
    if (this.#isReplaced) orders.replace();
  }

  /**
   * Requests a process that writes the store for all workers. Resolves to its answer.
   *
   * @param request the message to that process
   */
  storeWriter(request: object): Promise<object> {
    // Nothing else might keep this process alive.
    this.#process.channel?.ref();
    return new Promise((resolve) => {
      this.#onStore = resolve;
      this.#send({ type: "store", request });
    });
  }

  /** Tells the primary process the name under which this one holds leases. */
  holds(holder: string): void {
    this.#send({ type: "holder", holder });
  }

  /** Tells the primary process that calls are served. @param latestMs the longest time that an orderly end may take */
  ready(latestMs: number): void {
    this.#send({ type: "ready", latestMs });
  }

  /** Calls the listener with the names of holders whose processes have ended. */
  onEnded(listener: (holders: readonly string[]) => void): void {
    this.#onEnded = listener;
    if (this.#ended.length > 0) listener(this.#ended);
  }

  /** True for a holder whose process has ended. */
  hasEnded(holder: string): boolean {
    return this.#ended.includes(holder);
  }

  /** The connections of a port, which the primary process accepts. */
  source(port: PortName): ConnectionSource {
    const worker = this;
    // Nothing else might keep this process alive: it has no port of its own.
    this.#process.channel?.ref();
    return {
      get hasOthers() {
        return worker.#isReplaced;
      },
      open: (address) => this.#open(port, address),
      take: (accept) => {
        this.#accepting.set(port, accept);
        this.#send({ type: "take", port });
      },
      stop: () => {
        if (this.#accepting.delete(port)) this.#send({ type: "stop", port });
      },
    };
  }

  /** Carries signals to all other workers. */
  broadcast(texts: readonly string[]): void {
    this.#signals.send(texts);
  }

  /** Calls the listener with each signal of another worker. */
  onSignal(listener: (text: string) => void): void {
    this.#hearSignal = listener;
  }

  /** Asks all other workers. Resolves to the answers that come within two seconds, in any order. */
  ask(question: string, value?: unknown): Promise<readonly unknown[]> {
    if (this.#isAlone) return Promise.resolve([]);
    const id = ++this.#asks;
    return new Promise((resolve) => {
      this.#asked.set(id, resolve);
      this.#send({ type: "ask", id, question, value });
    });
  }

  /** Answers a question of other workers. */
  answer(question: string, answerer: Answerer): void {
    this.#answerers.set(question, answerer);
  }

  async #open(port: PortName, { host, port: number, fd, socket, reusePort }: ListenAddress): Promise<Bound> {
    const address = { host, port: number, fd, socket, reusePort };
    const answer = await new Promise<PortAnswer>((resolve) => {
      this.#opening.set(port, resolve);
      this.#send({ type: "open", port, address });
    });
    const { error, host: bound = host, port: boundPort = 0 } = answer;
    if (error !== undefined) throw Object.assign(new Error(error.message), { code: error.code });
    return { host: bound, port: boundPort };
  }

  #hear(message: ToWorker, socket: Socket | undefined): void {
    switch (message.type) {
      case "connection":
        this.#take(message, socket);
        return;
      case "check":
        this.#send({ type: "checked", upTo: message.upTo });
        return;
      case "opened":
        this.#opening.get(message.port)?.(message.answer);
        return;
      case "store":
        this.#onStore(message.answer);
        return;
      case "signals":
        for (const text of message.texts) this.#hearSignal(text);
        return;
      case "ended":
        this.#ended = message.holders;
        this.#onEnded(message.holders);
        return;
      case "replace":
        this.#isReplaced = true;
        this.#orders?.replace();
        return;
      case "end":
        // A terminal or systemd may also have signalled this process. A second signal would end it at once.
        if (!this.#isEnding) this.#process.kill(this.#process.pid, message.signal);
        return;
      case "reload":
        this.#orders?.reload();
        return;
      case "question":
        void this.#answer(message);
        return;
      case "answers":
        this.#asked.get(message.id)?.(message.values);
        this.#asked.delete(message.id);
    }
  }

  #take({ id, port }: Extract<ToWorker, { type: "connection" }>, socket: Socket | undefined): void {
    const accept = this.#accepting.get(port);
    this.#send({ type: "connection", id, taken: accept !== undefined });
    // Undefined if the client has left meanwhile.
    if (accept === undefined) socket?.destroy();
    else if (socket !== undefined) accept(socket);
  }

  async #answer({ id, question, value }: Extract<ToWorker, { type: "question" }>): Promise<void> {
    let answer: unknown;
    try {
      answer = await this.#answerers.get(question)?.(value);
    } catch {
      // The asking worker counts this one as not having answered.
    }
    this.#send({ type: "answer", id, value: answer ?? null });
  }

  /** The primary process was killed. Its end must not leave a worker. */
  #disconnected(): void {
    this.#isAlone = true;
    for (const answered of this.#asked.values()) answered([]);
    this.#process.kill(this.#process.pid, "SIGTERM");
  }

  #send(message: FromWorker, sent: () => void = () => {}): void {
    if (this.#process.connected) this.#process.send?.(message, sent);
  }
}
