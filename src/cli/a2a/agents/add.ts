import { referenceOf } from "../agent.js";
import type { Run } from "../context.js";
import { usage } from "../errors.js";
import { AgentBook } from "./book.js";
import { printAgent } from "./shown.js";

/** `agents add`: names an agent. Nothing is called. A file is stored with its whole path, a host as a URL. */
export const run: Run = async (context, [name = "", ref = ""]) => {
  const book = new AgentBook(context.io);
  const reference = await referenceOf(ref, context, "the agent");
  const agent = "file" in reference ? reference.file : reference.url.href;
  if (/[\r\n]/.test(agent)) throw usage("the agent: a path in the address book is one line");
  await book.add({ name, agent }, context.own("force").length > 0);
  printAgent(context, { name, agent });
};
