import type { Run } from "../context.js";
import { AgentBook } from "./book.js";
import { printAgent } from "./shown.js";

/** `agents remove`: removes an agent from the address book. Its logins stay stored. */
export const run: Run = async (context, [name = ""]) => {
  const book = new AgentBook(context.io);
  const gone = book.get(name);
  await book.remove(name);
  printAgent(context, gone);
};
