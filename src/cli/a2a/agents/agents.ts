import type { Io } from "../../io.js";
import { referenceOf } from "../agent.js";
import type { Context, Run } from "../context.js";
import { type Failure, usage } from "../errors.js";
import { changeFile } from "../replace-file.js";
import { fields } from "../text.js";
import { bookFile, bookLines, isAgentName, MAX_BOOK_BYTES, type NamedAgent, namedAgent } from "./names.js";

/** `agents add`: names an agent. Nothing is called. A file is stored with its whole path, a host as a URL. */
export const add: Run = async (context, [name = "", ref = ""]) => {
  const book = new AgentBook(context.io);
  const reference = await referenceOf(ref, context, "the agent");
  const agent = "file" in reference ? reference.file : reference.url.href;
  if (/[\r\n]/.test(agent)) throw usage("the agent: a path in the address book is one line");
  await book.add({ name, agent }, context.own("force").length > 0);
  printAgent(context, { name, agent });
};

/** `agents list`: prints the address book. */
export const list: Run = async ({ io, out }) => {
  const all = new AgentBook(io).all();
  if (out.mode.isJson) return out.json(all);
  for (const { name, agent } of all) out.text(`${fields({ Name: name, Agent: agent })}\n`);
  if (all.length === 0) out.note("note: the address book is empty");
};

/** `agents show`: prints an agent of the address book. Nothing is called. */
export const show: Run = async (context, [name = ""]) => printAgent(context, new AgentBook(context.io).get(name));

/** `agents remove`: removes an agent from the address book. Its logins stay stored. */
export const remove: Run = async (context, [name = ""]) => {
  const book = new AgentBook(context.io);
  const gone = book.get(name);
  await book.remove(name);
  printAgent(context, gone);
};

/** `agents rename`: gives an agent of the address book another name. */
export const rename: Run = async (context, [name = "", next = ""]) => {
  const book = new AgentBook(context.io);
  await book.rename(name, next);
  printAgent(context, book.get(next));
};

function printAgent({ out }: Context, { name, agent }: NamedAgent): void {
  out.result({ name, agent }, fields({ Name: name, Agent: agent }));
}

/** The address book of the user. A change keeps the lines that it does not concern, comments too. */
class AgentBook {
  readonly path: string;

  /** @throws Failure without a home directory */
  constructor(io: Io) {
    const path = bookFile(io);
    if (path === undefined) throw usage("the folder of the address book is unknown", "set XDG_CONFIG_HOME or HOME");
    this.path = path;
  }

  /** Returns all agents, by name. @throws Failure */
  all(): readonly NamedAgent[] {
    const all = bookLines(this.path).flatMap((line) => namedAgent(line) ?? []);
    return all.toSorted((one, other) => (one.name < other.name ? -1 : 1));
  }

  /** Returns an agent. @throws Failure for an unknown name */
  get(name: string): NamedAgent {
    const found = this.all().find((each) => each.name === name);
    if (found === undefined) throw unknown(name);
    return found;
  }

  /** Adds an agent, or replaces the one of this name. @throws Failure for a name that is taken or not valid */
  add({ name, agent }: NamedAgent, isReplaced: boolean): Promise<void> {
    checkName(name);
    return this.#change((lines) => {
      const at = lineOf(lines, name);
      if (at >= 0 && !isReplaced) throw taken(name);
      return at < 0 ? [...lines, `${name} ${agent}`] : lines.with(at, `${name} ${agent}`);
    });
  }

  /** Removes an agent. @throws Failure for an unknown name */
  remove(name: string): Promise<void> {
    return this.#change((lines) => {
      if (lineOf(lines, name) < 0) throw unknown(name);
      return lines.filter((line) => namedAgent(line)?.name !== name);
    });
  }

  /** Gives an agent another name. @throws Failure for an unknown name, and one that is taken or not valid */
  rename(name: string, next: string): Promise<void> {
    checkName(next);
    return this.#change((lines) => {
      const at = lineOf(lines, name);
      if (at < 0) throw unknown(name);
      if (lineOf(lines, next) >= 0) throw taken(next);
      return lines.with(at, `${next} ${namedAgent(lines[at] ?? "")?.agent}`);
    });
  }

  #change(changed: (lines: readonly string[]) => readonly string[]): Promise<void> {
    const text = (): string => {
      const before = bookLines(this.path);
      const lines = changed(before.at(-1) === "" ? before.slice(0, -1) : before);
      const after = lines.map((line) => `${line}\n`).join("");
      if (Buffer.byteLength(after) > MAX_BOOK_BYTES) throw usage(`${this.path} would be larger than 256 KiB`);
      return after;
    };
    return changeFile(this.path, text, "The address book cannot be changed");
  }
}

const lineOf = (lines: readonly string[], name: string): number =>
  lines.findIndex((line) => namedAgent(line)?.name === name);

function checkName(name: string): void {
  if (isAgentName(name)) return;
  throw usage(
    `${JSON.stringify(name)} is not a name for an agent`,
    "begin with a letter, and go on with up to 63 letters, digits, - or _; localhost is a host",
  );
}

const taken = (name: string): Failure => usage(`the address book has an agent ${name}`, "replace it by --force");
const unknown = (name: string): Failure => usage(`the address book has no agent ${name}`, "agents list shows them");
