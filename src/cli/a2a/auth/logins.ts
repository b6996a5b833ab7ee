import { agentOrigin } from "../agent.js";
import type { Context, Run } from "../context.js";
import { usage } from "../errors.js";
import { fields } from "../text.js";
import { type Login, LoginStore, validityOf } from "./store.js";

/** `auth status`: prints the stored logins. Nothing is called. */
export const status: Run = async (context) => {
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
async function selected(context: Context, store: LoginStore): Promise<readonly Login[]> {
  const isNamed = context.isFlag("agentCard") || context.isFlag("endpoint");
  const agent = isNamed ? await agentOrigin(context) : undefined;
  const scheme = context.own("scheme").at(-1);
  return store
    .all()
    .filter((login) => agent === undefined || login.agent === agent)
    .filter((login) => scheme === undefined || login.scheme === scheme);
}

/** `auth logout`: removes stored logins. Nothing is called, so tokens stay valid at their issuer until they expire. */
export const logout: Run = async (context) => {
  const isNamed = context.isFlag("agentCard") || context.isFlag("endpoint");
  const isAll = context.own("all").length > 0;
  if (isNamed === isAll) throw usage("name the agent (--agent-card), or remove all logins (--all)");
  const store = new LoginStore(context);
  const removed = await selected(context, store);
  if (removed.length > 0) await store.remove(removed);
  printLogins(context, removed);
  context.out.note(`note: ${removed.length === 1 ? "1 login was" : `${removed.length} logins were`} removed`);
};

/** Returns the public facts of a login. Without `expiresAt` it is unknown, or the credential does not expire. */
function shownLogin(login: Login) {
  const { agent, scheme, flow, clientId, issuedBy, origins } = login;
  const { issuer = issuedBy } = login;
  const { expiresAt = 0, isRenewed } = validityOf(login);
  const isOver = expiresAt <= Date.now();
  return {
    agent,
    scheme: scheme === "" ? null : scheme,
    flow,
    ...(clientId !== undefined && { clientId }),
    ...(clientId !== undefined && issuer !== undefined && { issuer }),
    interfaces: origins,
    expiresAt: Number.isFinite(expiresAt) ? new Date(expiresAt).toISOString() : null,
    state: isOver ? (isRenewed ? "renewed when needed" : "expired") : "valid",
  };
}

export function printLogin({ out }: Context, login: Login): void {
  const { agent, scheme, flow, expiresAt } = shownLogin(login);
  const Scheme = scheme ?? "none declared";
  const text = fields({ Agent: agent, Scheme, Flow: flow, Expires: expiresAt ?? "not known" });
  out.result({ agent, scheme, flow, expiresAt }, text);
}

function printLogins({ out }: Context, logins: readonly Login[]): void {
  const all = logins.map(shownLogin);
  if (out.mode.isJson) return out.json(all);
  for (const { agent, scheme, flow, clientId, issuer, interfaces, expiresAt, state } of all) {
    const head = { Agent: agent, Scheme: scheme ?? "none declared", Flow: flow, "Client ID": clientId, Issuer: issuer };
    const text = fields({ ...head, "Sent To": interfaces, Expires: expiresAt ?? "not known", State: state });
    out.text(`${text}\n`);
  }
}
