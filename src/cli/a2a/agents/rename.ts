import type { Run } from "../context.js";
import { AgentBook } from "./book.js";
import { printAgent } from "./shown.js";

/** `agents rename`: gives an agent of the address book another name. */
export const run: Run = async (context, [name = "", next = ""]) => {
  const book = new AgentBook(context.io);
  await book.rename(name, next);
  printAgent(context, book.get(next));
};
