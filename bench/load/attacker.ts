/** Attacks a server, in a process of its own. The questions of its parent limit the number of pieces and the time. */
import * as net from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type { Attacked, AttackQuestion } from "../protocol.js";
import { answerQuestions } from "../servers/child.js";
import { type Attack, attacks, titleOf } from "./attacks.js";

/** Time between two checks for due pieces, in milliseconds. */
const TICK_MS = 20;

/** A connection that is given up takes no more than this, in bytes. */
const MOST_WAITING = 1024 * 1024;

class Line {
  readonly #attack: Attack;
  readonly #port: number;
  #socket: net.Socket | undefined;
  #sent = 0;
  opened = 0;

  constructor(attack: Attack, port: number) {
    this.#attack = attack;
    this.#port = port;
  }

  /** Sends one piece, on a new connection where the old one is closed. */
  send(): boolean {
    if (this.#socket === undefined || this.#socket.destroyed || !this.#socket.writable) this.open();
    const socket = this.#socket as net.Socket;
    if (socket.writableLength > MOST_WAITING) return false;
    socket.write(this.#attack.piece(this.#sent++));
    return true;
  }

  open(): void {
    this.#socket?.destroy();
    const socket = net.connect(this.#port, "127.0.0.1");
    socket.on("error", () => {});
    if (this.#attack.isDeaf === true) socket.pause();
    else socket.resume();
    socket.write(this.#attack.begin);
    this.#socket = socket;
    this.#sent = 0;
    this.opened++;
  }

  close(): void {
    this.#socket?.destroy();
  }
}

async function attack({ title, port, ms }: AttackQuestion): Promise<Attacked> {
  const asked = attacks.find((each) => titleOf(each) === title);
  if (asked === undefined) throw new Error(`There is no attack ${title}.`);
  const lines = Array.from({ length: asked.connections }, () => new Line(asked, port));
  const cpu = process.cpuUsage();
  const start = performance.now();
  let pieces = 0;
  let next = 0;
  for (const line of lines) line.open();
  for (let elapsed = 0; elapsed < ms; elapsed = performance.now() - start) {
    const due = Math.floor((elapsed / 1_000) * asked.perSecond);
    // Pieces that a busy machine delayed are not all sent at once.
    const most = pieces + Math.ceil((asked.perSecond * TICK_MS * 5) / 1_000);
    for (pieces = Math.max(pieces, due - (most - pieces)); pieces < due; pieces++) {
      lines[next++ % lines.length]?.send();
    }
    await sleep(TICK_MS);
  }
  const { user, system } = process.cpuUsage(cpu);
  for (const line of lines) line.close();
  const opened = lines.reduce((sum, line) => sum + line.opened, 0) - lines.length;
  return { pieces, reopened: opened, cpuMs: (user + system) / 1_000, ms: performance.now() - start };
}

answerQuestions(attack, {});
