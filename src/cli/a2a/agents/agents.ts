import type { Io } from "../../io.js";
import { referenceOf } from "../agent.js";
import type { Context, Run } from "../context.js";
import { type Failure, usage } from "../errors.js";
import { changeFile } from "../replace-file.js";
import { fields } from "../text.js";
import { agentsIn, bookFile, bookLines, isAgentName, MAX_BOOK_BYTES, type NamedAgent, namedAgent } from "./names.js";

/** `agents add`: names an agent. Nothing is called. A file is stored with its whole path, a host as a URL. */
export const add: Run = async (context, [name = "", ref = ""]) => {
  const path = bookPath(context.io);
  const reference = await referenceOf(ref, context, "the agent");
  const agent = "file" in reference ? reference.file : reference.url.href;
  if (/[\r\n]/.test(agent)) throw usage("the agent: a path in the address book is one line");
  checkName(name);
  await change(path, (lines) => {
    const at = lineOf(lines, name);
    if (at >= 0 && context.own("force").length === 0) throw taken(name);
    return at < 0 ? [...lines, `${name} ${agent}`] : lines.with(at, `${name} ${agent}`);
  });
  printAgent(context, { name, agent });
};

/** `agents list`: prints the address book. */
export const list: Run = async ({ io, out }) => {
  const all = agentsIn(bookPath(io)).toSorted((one, other) => (one.name < other.name ? -1 : 1));
  if (out.mode.isJson) return out.json(all);
  for (const { name, agent } of all) out.text(`${fields({ Name: name, Agent: agent })}\n`);
  if (all.length === 0) out.note("note: the address book is empty");
};

/** `agents show`: prints an agent of the address book. Nothing is called. */
export const show: Run = async (context, [name = ""]) => printAgent(context, agentOf(bookPath(context.io), name));

/** `agents remove`: removes an agent from the address book. Its logins stay stored. */
export const remove: Run = async (context, [name = ""]) => {
  const path = bookPath(context.io);
  const removed = agentOf(path, name);
  await change(path, (lines) => {
    if (lineOf(lines, name) < 0) throw unknown(name);
    return lines.filter((line) => namedAgent(line)?.name !== name);
  });
  printAgent(context, removed);
};

/** `agents rename`: gives an agent of the address book another name. */
export const rename: Run = async (context, [name = "", next = ""]) => {
  const path = bookPath(context.io);
  checkName(next);
  await change(path, (lines) => {
    const at = lineOf(lines, name);
    if (at < 0) throw unknown(name);
    if (lineOf(lines, next) >= 0) throw taken(next);
    return lines.with(at, `${next} ${namedAgent(lines[at] ?? "")?.agent}`);
  });
  printAgent(context, agentOf(path, next));
};

function printAgent({ out }: Context, { name, agent }: NamedAgent): void {
  out.result({ name, agent }, fields({ Name: name, Agent: agent }));
}

/** Returns the path of the address book. @throws Failure without a home directory */
function bookPath(io: Io): string {
  const path = bookFile(io);
  if (path === undefined) throw usage("the folder of the address book is unknown", "set XDG_CONFIG_HOME or HOME");
  return path;
}

/** Returns an agent. @throws Failure for an unknown name */
function agentOf(path: string, name: string): NamedAgent {
  const found = agentsIn(path).find((each) => each.name === name);
  if (found === undefined) throw unknown(name);
  return found;
}

/** Changes the address book under its lock. Lines that this does not concern are kept, comments too. */
function change(path: string, changed: (lines: readonly string[]) => readonly string[]): Promise<void> {
  const text = (): string => {
    const before = bookLines(path);
    const lines = changed(before.at(-1) === "" ? before.slice(0, -1) : before);
    const after = lines.map((line) => `${line}\n`).join("");
    if (Buffer.byteLength(after) > MAX_BOOK_BYTES) throw usage(`${path} would be larger than 256 KiB`);
    return after;
  };
  return changeFile(path, text, "The address book cannot be changed");
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
