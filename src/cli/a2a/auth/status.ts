import { agentOrigin } from "../agent.js";
import type { Context, Run } from "../context.js";
import { printLogins } from "./shown.js";
import { type Login, LoginStore } from "./store.js";

/** `auth status`: prints the stored logins. Nothing is called. */
export const run: Run = async (context) => {
  const { out, settings: values } = context;
  const logins = await selected(context, new LoginStore(context));
  printLogins(context, logins);
  if (logins.length === 0) out.note("note: no login is stored");
  const { bearer, apiKey, auth } = values;
  for (const [name, value] of Object.entries({ bearer, "api-key": apiKey, auth })) {
    if (value !== undefined) out.note(`note: the setting ${name} has a value, which comes before stored logins`);
  }
};

/** Returns the logins that `--agent-card`, `--endpoint` and `--scheme` name; all without them. */
export async function selected(context: Context, store: LoginStore): Promise<readonly Login[]> {
  const isNamed = context.isFlag("agentCard") || context.isFlag("endpoint");
  const agent = isNamed ? await agentOrigin(context) : undefined;
  const scheme = context.own("scheme").at(-1);
  return store
    .all()
    .filter((login) => agent === undefined || login.agent === agent)
    .filter((login) => scheme === undefined || login.scheme === scheme);
}
