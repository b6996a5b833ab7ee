import type { Run } from "../context.js";
import { AgentBook } from "./book.js";
import { printAgent } from "./shown.js";

/** `agents show`: prints an agent of the address book. Nothing is called. */
export const run: Run = async (context, [name = ""]) => printAgent(context, new AgentBook(context.io).get(name));
