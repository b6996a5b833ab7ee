import { spawnSync } from "node:child_process";
import { expect } from "vitest";
import { apt, run } from "./tool.js";

/** Installs tmux if it is missing. */
export async function installTmux(): Promise<void> {
  if ((await run("sh", ["-c", "command -v tmux"])).code !== 0) await apt("tmux");
}

let count = 0;

/** A tmux terminal on its own server. */
export class Terminal {
  readonly #socket = `parley-${process.pid}-${++count}`;

  /** @param command shell command to run */
  constructor(command: string, { columns = 80, rows = 40 } = {}) {
    this.#tmux("new-session", "-d", "-x", `${columns}`, "-y", `${rows}`, "-s", "t", command);
    // Keeps the screen readable after its command has ended.
    this.#tmux("set-option", "-t", "t", "remain-on-exit", "on");
  }

  #tmux(...args: readonly string[]): string {
    return spawnSync("tmux", ["-L", this.#socket, ...args], { encoding: "utf8" }).stdout;
  }

  /** The screen, without colours and trailing space. */
  get screen(): string {
    return this.#tmux("capture-pane", "-p", "-t", "t").trimEnd();
  }

  /** The screen and its scrollback. @param escapes true to keep colours */
  all(escapes = false): string {
    return this.#tmux("capture-pane", "-p", ...(escapes ? ["-e"] : []), "-S", "-10000", "-t", "t").trimEnd();
  }

  keys(...keys: readonly string[]): void {
    this.#tmux("send-keys", "-t", "t", ...keys);
  }

  enter(text: string): void {
    if (text !== "") this.#tmux("send-keys", "-t", "t", "-l", text);
    this.keys("Enter");
  }

  /** Pastes a text as a terminal does. */
  paste(text: string): void {
    this.#tmux("set-buffer", text);
    this.#tmux("paste-buffer", "-p", "-t", "t");
  }

  resize(columns: number, rows: number): void {
    this.#tmux("resize-window", "-t", "t", "-x", `${columns}`, "-y", `${rows}`);
  }

  async shows(text: string | RegExp): Promise<void> {
    const poll = expect.poll(() => this.screen, { timeout: 30_000, interval: 50 });
    await (typeof text === "string" ? poll.toContain(text) : poll.toMatch(text));
  }

  close(): void {
    this.#tmux("kill-server");
  }
}
