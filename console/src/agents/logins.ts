/** Key of a login in this tab, which forgets it when it closes. */
const KEY = "parley-console-login ";

/** Flows of OAuth 2.0 that a page can run, by their names in cards. */
export type OAuthFlow = "authorizationCode" | "deviceCode" | "clientCredentials";

/** A client of an issuer of tokens. */
export interface OAuthLogin {
  readonly kind: OAuthFlow;
  readonly clientId: string;
  readonly clientSecret?: string;
  /** Replaces the issuer that the card names. */
  readonly issuer?: string;
  /** Scopes besides those that the card asks for. */
  readonly scopes?: readonly string[];
  /** Resource of the tokens (RFC 8707). */
  readonly resource?: string;
}

/** Credential for one security scheme of a card. */
export type SchemeLogin =
  | { readonly kind: "apiKey"; readonly key: string }
  | { readonly kind: "basic"; readonly user: string; readonly password: string }
  | { readonly kind: "bearer"; readonly token: string }
  | OAuthLogin;

/** The login at one agent. */
export interface Login {
  /** By the names of the card's schemes. */
  readonly schemes: Readonly<Record<string, SchemeLogin>>;
  /** Hosts of the card's interfaces that receive credentials besides the agent's own. */
  readonly hosts?: readonly string[];
  /** True to send credentials over `http:` too. */
  readonly allowHttp?: boolean;
}

const none: Login = { schemes: {} };
const known = new Map<string, Login>();
/** Secrets by agent, also of logins that were changed or forgotten: exchanges before may hold them. */
const used = new Map<string, ReadonlySet<string>>();
const revisions = new Map<string, number>();
const listeners = new Set<() => void>();

/** Logins of this tab, for `useSyncExternalStore`. */
export const logins = {
  subscribe(listener: () => void): () => void {
    listeners.add(listener);
    return () => listeners.delete(listener);
  },
  /** Returns the login at an agent. @param agent its URL, as `absolute` returns it */
  get(agent: string): Login {
    const found = known.get(agent) ?? read(agent);
    remember(agent, found);
    return found;
  },
  /** Returns a number that changes with the login, which may stand in keys where secrets may not. */
  revision: (agent: string): number => revisions.get(agent) ?? 0,
  set(agent: string, login: Login): void {
    remember(agent, login);
    sessionStorage.setItem(KEY + agent, JSON.stringify(login));
    changed(agent);
  },
  /** Forgets the login and the tokens of an agent. */
  forget(agent: string): void {
    known.delete(agent);
    sessionStorage.removeItem(KEY + agent);
    const tokens = Object.keys(sessionStorage).filter((key) => key.startsWith(tokenPrefix(agent)));
    for (const key of tokens) sessionStorage.removeItem(key);
    changed(agent);
  },
};

/** Says that an agent has other tokens, so that it is called anew. */
export function changed(agent: string): void {
  revisions.set(agent, logins.revision(agent) + 1);
  for (const listener of listeners) listener();
}

/** Returns the beginning of the keys under which an agent's tokens are stored. */
export const tokenPrefix = (agent: string): string => `parley-console-tokens ${agent} `;

/** Returns the access tokens of an agent that are stored. */
export function tokensOf(agent: string): readonly string[] {
  const prefix = tokenPrefix(agent);
  const stored = Object.keys(sessionStorage).filter((key) => key.startsWith(prefix));
  return stored.flatMap((key) => {
    try {
      const { accessToken } = JSON.parse(sessionStorage.getItem(key) ?? "{}") as { accessToken?: unknown };
      return typeof accessToken === "string" ? [accessToken] : [];
    } catch {
      return [];
    }
  });
}

function read(agent: string): Login {
  try {
    const value: unknown = JSON.parse(sessionStorage.getItem(KEY + agent) ?? "null");
    return typeof value === "object" && value !== null && "schemes" in value ? (value as Login) : none;
  } catch {
    return none;
  }
}

function remember(agent: string, login: Login): void {
  if (known.get(agent) === login) return;
  known.set(agent, login);
  used.set(agent, new Set([...(used.get(agent) ?? []), ...secretsOf(login)]));
}

/** Returns the texts that must not be shown: secrets of the login at an agent, and of its logins before. */
export function secretsAt(agent: string): readonly string[] {
  logins.get(agent);
  return [...(used.get(agent) ?? [])];
}

function secretsOf({ schemes }: Login): readonly string[] {
  return Object.values(schemes).flatMap((login) => {
    switch (login.kind) {
      case "apiKey":
        return [login.key];
      case "bearer":
        return [login.token];
      case "basic":
        return [
          login.password,
          btoa(String.fromCharCode(...new TextEncoder().encode(`${login.user}:${login.password}`))),
        ];
      default:
        return login.clientSecret === undefined ? [] : [login.clientSecret];
    }
  });
}
