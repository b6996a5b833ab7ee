import type { Run } from "../context.js";
import { usage } from "../errors.js";
import { printLogins } from "./shown.js";
import { selected } from "./status.js";
import { LoginStore } from "./store.js";

/** `auth logout`: removes stored logins. Nothing is called, so tokens stay valid at their issuer until they expire. */
export const run: Run = async (context) => {
  const isNamed = context.isFlag("agentCard") || context.isFlag("endpoint");
  const isAll = context.own("all").length > 0;
  if (isNamed === isAll) throw usage("name the agent (--agent-card), or remove all logins (--all)");
  const store = new LoginStore(context);
  const gone = await selected(context, store);
  if (gone.length > 0) await store.remove(gone);
  printLogins(context, gone);
  context.out.note(`note: ${gone.length === 1 ? "1 login was" : `${gone.length} logins were`} removed`);
};
