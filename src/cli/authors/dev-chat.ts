import { appendFileSync, closeSync, fstatSync, mkdtempSync, openSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Command } from "commander";
import { Waiters } from "../../core/async.js";
import { type Beside, talk } from "../a2a/chat/chat.js";
import { execute } from "../a2a/execute.js";
import type { Io } from "../io.js";
import type { ReadyMessage, Stage } from "./stage.js";

/** A stage with a chat in the terminal. The output of the server goes to a file, and lines about it into the chat. */
export class ChatStage implements Stage, Beside {
  readonly output: number;
  readonly #io: Io;
  readonly #program: Command;
  readonly #path: string;
  readonly #onEnd: (exit: number) => void;
  #isReady = false;
  readonly #waiting = new Waiters();
  /** Shows a line in the chat, while there is one. */
  #show: ((line: string) => void) | undefined;
  #chat: Promise<void> | undefined;
  /** Size of the file when the process of the server started. */
  #from = 0;

  /**
   * @param program that has the command
   * @param onEnd called when the person leaves the chat
   */
  constructor(io: Io, program: Command, onEnd: (exit: number) => void) {
    this.#io = io;
    this.#program = program;
    this.#onEnd = onEnd;
    this.#path = join(mkdtempSync(join(tmpdir(), "parley-dev-")), "server.log");
    this.output = openSync(this.#path, "a", 0o600);
  }

  get isReady(): boolean {
    return this.#isReady;
  }

  whenReady(): Promise<void> {
    return this.#isReady ? Promise.resolve() : this.#waiting.wait();
  }

  showIn(show: ((line: string) => void) | undefined): void {
    this.#show = show;
  }

  say(text: string): void {
    const line = `parley: ${text}`;
    appendFileSync(this.#path, `${line}\n`);
    this.#tell(line);
  }

  starting(): void {
    this.#from = fstatSync(this.output).size;
  }

  ready({ greeting, address }: ReadyMessage, isFirst: boolean): void {
    this.#isReady = true;
    this.#waiting.release();
    if (!isFirst) return this.say("the agent is served again");
    const [about = ""] = greeting.split("\n\n", 1);
    this.#io.stdout.write(`${about}\nThe server's log is in ${this.#path}\n\n`);
    this.#chat = this.#talk(address);
  }

  away(): void {
    this.#isReady = false;
  }

  /** The reason is in the file, as lines of the command. Its other lines are the agent's own. */
  failed(): void {
    const written = readFileSync(this.#path).subarray(this.#from).toString();
    for (const line of written.split("\n")) if (line.startsWith("parley: ")) this.#tell(line);
  }

  async close(): Promise<void> {
    await this.#chat;
    closeSync(this.output);
  }

  async #talk(address: string): Promise<void> {
    const row = {
      words: "chat",
      about: "",
      load: async () => ({
        run: (context: Parameters<typeof talk>[0]) => talk(context, { name: "chat", text: undefined, beside: this }),
      }),
    };
    const early = { isJson: false, isLines: false, isVerbose: false };
    const given = [
      { name: "agent-card", value: address },
      { name: "output", value: "text" },
    ];
    const exit = await execute(row, this.#io, early, { given, operands: [], program: this.#program });
    this.#onEnd(exit);
  }

  #tell(line: string): void {
    if (this.#show === undefined) this.#io.stderr.write(`${line}\n`);
    else this.#show(line);
  }
}
