import type { Context } from "../context.js";
import { field } from "../text.js";
import { type Login, validityOf } from "./store.js";

/** A login as programs read it. It has no secret. */
interface ShownLogin {
  readonly agent: string;
  readonly scheme: string | null;
  readonly flow: string;
  readonly clientId?: string;
  readonly issuer?: string;
  readonly interfaces: readonly string[];
  /** Null if it is unknown, or if the credential does not expire. */
  readonly expiresAt: string | null;
  readonly state: "valid" | "renewed when needed" | "expired";
}

/** Returns the public facts of a login. */
export function shownLogin(login: Login): ShownLogin {
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

/** Prints the result of a login. */
export function printLogin({ out }: Context, login: Login): void {
  const { agent, scheme, flow, expiresAt } = shownLogin(login);
  if (out.mode.isJson) return out.json({ agent, scheme, flow, expiresAt });
  out.text(
    field("Agent", agent) +
      field("Scheme", scheme ?? "none declared") +
      field("Flow", flow) +
      field("Expires", expiresAt ?? "not known"),
  );
}

/** Prints logins. */
export function printLogins({ out }: Context, logins: readonly Login[]): void {
  const all = logins.map(shownLogin);
  if (out.mode.isJson) return out.json(all);
  for (const { agent, scheme, flow, clientId, issuer, interfaces, expiresAt, state } of all) {
    out.text(
      `${
        field("Agent", agent) +
        field("Scheme", scheme ?? "none declared") +
        field("Flow", flow) +
        (clientId === undefined ? "" : field("Client ID", clientId)) +
        (issuer === undefined ? "" : field("Issuer", issuer)) +
        interfaces.map((origin) => field("Sent To", origin)).join("") +
        field("Expires", expiresAt ?? "not known") +
        field("State", state)
      }\n`,
    );
  }
}
