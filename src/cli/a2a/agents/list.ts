import type { Run } from "../context.js";
import { field } from "../text.js";
import { AgentBook } from "./book.js";

/** `agents list`: prints the address book. */
export const run: Run = async ({ io, out }) => {
  const all = new AgentBook(io).all();
  if (out.mode.isJson) return out.json(all);
  for (const { name, agent } of all) out.text(`${field("Name", name)}${field("Agent", agent)}\n`);
  if (all.length === 0) out.note("note: the address book is empty");
};
