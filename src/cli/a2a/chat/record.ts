import { writeFile } from "node:fs/promises";

/** Most characters of a talk that are kept. */
const MAX_SAVED = 64 * 1024 * 1024;

/** One side's text, up to that of the other one. */
interface Entry {
  readonly from: "user" | "agent";
  text: string;
  readonly contextId: string | undefined;
  readonly taskId: string | undefined;
}

/** What was said in a talk. */
export class TalkRecord {
  readonly #entries: Entry[] = [];
  #size = 0;

  /** Adds a text. The agent's texts in a row are one entry, with the ids of the first. */
  add(from: Entry["from"], text: string, ids: Pick<Entry, "contextId" | "taskId">): void {
    if (this.#size > MAX_SAVED) return;
    this.#size += text.length;
    const last = this.#entries.at(-1);
    if (from === "agent" && last?.from === "agent") last.text += text;
    else this.#entries.push({ from, text, ...ids });
  }

  /** Writes the talk to a new file: JSON lines if its name ends with `.jsonl`, otherwise Markdown. */
  async save(path: string): Promise<void> {
    const names = { user: "You", agent: "Agent" };
    const lines = /\.jsonl$/i.test(path)
      ? this.#entries.map((entry) => `${JSON.stringify(entry)}\n`)
      : this.#entries.map(({ from, text }) => `**${names[from]}:** ${text.trimEnd()}\n\n`);
    await writeFile(path, lines.join(""), { flag: "wx" });
  }
}
