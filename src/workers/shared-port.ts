import { createServer, type Server, type Socket } from "node:net";
import { background } from "../core/async.js";
import { decrement, increment } from "../core/maps.js";
import { type Bound, listenAt } from "../http/node/listening.js";
import type { PortAddress, PortAnswer, PortName } from "./messages.js";

/** A worker, as a port sees it. */
export interface Taker {
  /** Hands a connection over. Its answer arrives at `SharedPort.answered`, unless the worker ends before. */
  give(port: PortName, id: number, socket: Socket): void;
  /** Asks for a confirmation (`SharedPort.checked`), which follows all connections that were handed over before. */
  check(upTo: number): void;
}

/** Interval between questions about unconfirmed connections, in milliseconds. */
const CHECK_MS = 1_000;

/** Number of workers at which a connection may fail to arrive before it is closed. */
const MOST_TRIES = 3;

interface Given {
  readonly socket: Socket;
  readonly taker: Taker;
  /** Number of workers at which it has not arrived. */
  readonly tries: number;
}

/** Connections that wait for a worker, and those that wait for its answer. Later ones are closed. */
const MOST_WAITING = 10_000;

/**
 * A port on which one process listens for all workers. It hands the connections to the workers in turn, and prefers
 * workers that respond. A connection belongs to this process until its worker has confirmed it. If that worker ends
 * first, the connection goes to another one, and waits here if none exists. The port stays open while workers are
 * replaced.
 */
export class SharedPort {
  readonly #name: PortName;
  readonly #server: Server;
  readonly #takers: Taker[] = [];
  /** Number of connections that each worker has not confirmed. */
  readonly #unconfirmed = new Map<Taker, number>();
  readonly #given = new Map<number, Given>();
  /** Workers that were asked for a confirmation. A stopped worker is asked once. */
  readonly #asked = new Set<Taker>();
  #checks: NodeJS.Timeout | undefined;
  #waiting: Socket[] = [];
  #next = 0;
  readonly #opened: Promise<PortAnswer>;
  #isClosed = false;

  constructor(name: PortName, address: PortAddress) {
    this.#name = name;
    // Workers get existing connections, so the options that createHttp1 sets on its own ones are set here.
    const options = { pauseOnConnect: true, noDelay: true, keepAlive: true, keepAliveInitialDelay: 60_000 };
    this.#server = createServer(options, (socket) => {
      // Nothing reads from it here.
      socket.on("error", () => {});
      this.#give(socket);
    });
    const failed = (): void => {};
    this.#opened = listenAt(this.#server, address, failed).then(
      ({ host, port }: Bound) => ({ host, port }),
      ({ code, message }: NodeJS.ErrnoException) => ({ error: { code, message } }),
    );
  }

  /** Resolves to the address, or to the reason why it cannot listen. */
  get opened(): Promise<PortAnswer> {
    return this.#opened;
  }

  /** Starts to hand connections to a worker. */
  add(taker: Taker): void {
    if (this.#isClosed || this.#takers.includes(taker)) return;
    this.#takers.push(taker);
    for (const socket of this.#waiting.splice(0)) this.#give(socket);
  }

  /** Hands no more connections to a worker. */
  remove(taker: Taker): void {
    const at = this.#takers.indexOf(taker);
    if (at >= 0) this.#takers.splice(at, 1);
  }

  /** Hands the unconfirmed connections of a worker that has ended to others. */
  lost(taker: Taker): void {
    this.remove(taker);
    this.#unconfirmed.delete(taker);
    this.#asked.delete(taker);
    for (const [id, given] of this.#given) {
      if (given.taker !== taker) continue;
      this.#given.delete(id);
      this.#give(given.socket);
    }
  }

  /** Records that a worker has taken or declined a connection. Returns false for the connection of another port. */
  answered(id: number, taken: boolean): boolean {
    const given = this.#given.get(id);
    if (given === undefined) return false;
    this.#given.delete(id);
    decrement(this.#unconfirmed, given.taker);
    // Closes the descriptor of this process. The worker has its own, so the connection stays open.
    if (taken) given.socket.destroy();
    else this.#give(given.socket);
    return true;
  }

  /**
   * Messages arrive in their order, so connections up to this id that the worker has not confirmed have not arrived: the
   * system drops them where a process has no free descriptor. They go to others.
   */
  checked(taker: Taker, upTo: number): void {
    this.#asked.delete(taker);
    for (const [id, given] of this.#given) {
      if (id > upTo) break;
      if (given.taker !== taker) continue;
      this.#given.delete(id);
      decrement(this.#unconfirmed, taker);
      if (given.tries + 1 < MOST_TRIES) this.#give(given.socket, given.tries + 1);
      else given.socket.destroy();
    }
  }

  get hasTakers(): boolean {
    return this.#takers.length > 0;
  }

  /** Accepts no more connections, and closes those that no worker has. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#server.close();
    clearTimeout(this.#checks);
    for (const socket of this.#waiting.splice(0)) socket.destroy();
  }

  /** Ids are unique among all ports, so that a worker need not name the port. */
  static #last = 0;

  #give(socket: Socket, tries = 0): void {
    const taker = this.#choose();
    if (taker === undefined) {
      if (this.#isClosed || this.#waiting.length >= MOST_WAITING) socket.destroy();
      else this.#waiting.push(socket);
      return;
    }
    if (this.#given.size >= MOST_WAITING) return void socket.destroy();
    const id = ++SharedPort.#last;
    this.#given.set(id, { socket, taker, tries });
    increment(this.#unconfirmed, taker);
    taker.give(this.#name, id, socket);
    this.#checks ??= background(setTimeout(this.#check, CHECK_MS));
  }

  readonly #check = (): void => {
    const latest = new Map<Taker, number>();
    for (const [id, { taker }] of this.#given) latest.set(taker, id);
    for (const [taker, id] of latest) {
      if (this.#asked.has(taker)) continue;
      this.#asked.add(taker);
      taker.check(id);
    }
    this.#checks = this.#given.size > 0 ? background(setTimeout(this.#check, CHECK_MS)) : undefined;
  };

  /** The next worker in turn of those with the fewest unconfirmed connections: a stalled one gets few. */
  #choose(): Taker | undefined {
    const { length } = this.#takers;
    const first = this.#next;
    let best: Taker | undefined;
    let fewest = Number.POSITIVE_INFINITY;
    for (let turn = first; turn < first + length && fewest > 0; turn++) {
      const taker = this.#takers[turn % length];
      if (taker === undefined) continue;
      const count = this.#unconfirmed.get(taker) ?? 0;
      if (count >= fewest) continue;
      [best, fewest] = [taker, count];
      this.#next = turn + 1;
    }
    return best;
  }
}
