import { toJson } from "@bufbuild/protobuf";
import { SecuritySchemeSchema } from "../../../../gen/lf/a2a/v1/a2a_pb.js";
import { placeOf } from "../../../client/credentials/api-key.js";
import { chooseCredentials } from "../../../client/credentials/choose.js";
import { headerForm } from "../../../client/credentials/secret.js";
import { comparableHost } from "../../../client/hosts.js";
import { isLoopback, parseUrl } from "../../../core/net.js";
import { given } from "../../../core/options.js";
import { hasTerminal } from "../../io.js";
import { type AgentInterfaces, findAgent, warnOf } from "../agent.js";
import { type Context, ownOption, type Run } from "../context.js";
import { Failure, usage } from "../errors.js";
import { oneOf } from "../kinds.js";
import { loginCommand } from "../resume.js";
import { printLogin } from "./logins.js";
import { oauthOptions } from "./oauth-options.js";
import { type Plan, planOf } from "./plan.js";
import { askSecret, secretFromStdin } from "./prompt.js";
import { type Flow, flows, type Login, LoginStore } from "./store.js";

/** `auth login`: gets a credential for an agent, and stores it. */
export const run: Run = async (context) => {
  const options = optionsOf(context);
  const store = new LoginStore(context);
  // A file that cannot be used is reported before the user signs in.
  const before = store.all();
  if (context.resolved.sources.timeout.kind !== "default") context.startBudget();
  const agent = await findAgent(context).catch((error: unknown) => {
    throw error instanceof Failure ? cardRefusal(error) : error;
  });
  const hasSecret = context.resolved.others.A2ACLI_CLIENT_SECRET !== undefined;
  const plan = planOf(agent.found.card, { ...options, hasSecret });
  checkEncryption(agent.chosen.url);
  context.noteLogin();
  warnOf(context, agent.found, agent.chosen.url);
  const login = await loginOf(context, agent, plan, options);
  await store.put(login);
  printLogin(context, login);
  noteOthers(context, agent, [...before, login]);
};

/** Replaces the hint of a refused card, which is to log in. */
function cardRefusal(failure: Failure): Failure {
  const { code, message, a2aCode, cause } = failure;
  if (code !== "A2ACLI_ERR_CREDENTIALS_MISSING") return failure;
  const hint = "the card itself needs a credential: set A2ACLI_BEARER or A2ACLI_AUTH for the login";
  return new Failure(code, message, { hint, a2aCode, cause });
}

interface LoginOptions {
  readonly scheme: string | undefined;
  readonly flow: Flow | undefined;
  readonly issuer: string | undefined;
  readonly redirectUri: URL;
  readonly user: string | undefined;
}

/** Reads the options, before anything is called. @throws Failure */
function optionsOf(context: Context): LoginOptions {
  checkFlags(context);
  const user = context.own("user").at(-1);
  if (user?.includes(":")) throw usage("--user: a user name of HTTP Basic must not contain a colon");
  return {
    scheme: context.own("scheme").at(-1),
    flow: ownOption(context, "flow", oneOf(...flows)),
    issuer: ownOption(context, "issuer", issuerUrl),
    redirectUri: ownOption(context, "redirect-uri", redirectUri) ?? new URL("http://127.0.0.1/callback"),
    user,
  };
}

/** Credentials of the command line are in the history of the shell, so they are not stored. */
function checkFlags(context: Context): void {
  const flag = (["bearer", "apiKey", "auth"] as const).find((name) => context.isFlag(name));
  if (flag === undefined) return;
  throw usage(
    "auth login takes no credential from the command line",
    "name its kind (--flow bearer, api-key or basic), and type it or pass it on stdin (--stdin)",
  );
}

function issuerUrl(text: string): string {
  const { protocol } = parseUrl(text) ?? {};
  if (protocol !== "https:" && !(protocol === "http:" && isLoopback(text))) throw new Error("is not a URL of https");
  return text;
}

function redirectUri(text: string): URL {
  const url = parseUrl(text);
  if (url?.protocol !== "http:" || !isLoopback(text) || url.search + url.hash + url.username !== "") {
    throw new Error("is not a URL of this machine, such as http://127.0.0.1/callback");
  }
  return url;
}

async function loginOf(
  context: Context,
  { agent, origins }: AgentInterfaces,
  plan: Plan,
  options: LoginOptions,
): Promise<Login> {
  const { scheme, flow, declared, issuedBy } = plan;
  const login = { agent, scheme, flow, origins, ...given({ issuedBy }) };
  if (declared === undefined || flow === "bearer" || flow === "api-key" || flow === "basic") {
    return { ...login, secret: await typedSecret(context, agent, plan, options) };
  }
  if ((flow === "device" || flow === "code") && !hasTerminal(context.io) && options.flow === undefined) {
    throw usage(`a login by ${flow} needs a user at a terminal`, `to log in anyway: --flow ${flow}`);
  }
  const asking = await asked(context, login, options);
  const { issuerHttp } = await import("./issuer-http.js");
  const { fetch, close } = issuerHttp(context);
  context.onClose(close);
  const place = options.issuer ?? issuedBy ?? "";
  context.out.note(`note: tokens are issued by ${comparableHost(place) ?? place}`);
  const { obtainTokens } = await import("./obtain.js");
  const tokens = await obtainTokens(context, {
    agent,
    flow,
    declared,
    scopes: plan.scopes,
    options: oauthOptions(asking, { fetch }),
    opensBrowser: context.own("open").length > 0,
    redirectUri: options.redirectUri,
  });
  return { ...login, ...asking, declared: toJson(SecuritySchemeSchema, declared), tokens };
}

function checkEncryption(url: string): void {
  if (url.startsWith("https:") || isLoopback(url)) return;
  throw usage(`the agent is called without encryption at ${comparableHost(url)}, so no credential is stored for it`);
}

/** Reads the options of OAuth. @throws Failure */
async function asked(context: Context, login: Pick<Login, "agent" | "flow">, { issuer }: LoginOptions) {
  const { others } = context.resolved;
  const clientId = context.own("client-id").at(-1) ?? others.A2ACLI_CLIENT_ID;
  if (clientId === undefined || clientId === "") {
    throw usage("a login by OAuth needs the id of a client", "name it by --client-id (A2ACLI_CLIENT_ID)");
  }
  const clientSecret = await clientSecretOf(context, login.flow, clientId);
  context.out.redactor.add(clientSecret);
  const scopes = context
    .own("scope")
    .flatMap((each) => each.split(/[\s,]+/))
    .filter((each) => each !== "");
  const [resource, audience] = [context.own("resource").at(-1), context.own("audience").at(-1)];
  return { agent: login.agent, clientId, scopes, ...given({ clientSecret, issuer, resource, audience }) };
}

async function clientSecretOf(context: Context, flow: Flow, clientId: string): Promise<string | undefined> {
  if (context.own("stdin").length > 0) return secretFromStdin(context);
  const known = context.resolved.others.A2ACLI_CLIENT_SECRET;
  if (known !== undefined || flow !== "client-credentials") return known;
  return askSecret(context, `Secret of the client ${clientId}`);
}

/** Reads a token, a key, or a name and password. @throws Failure for one that cannot be sent */
async function typedSecret(
  context: Context,
  agent: string,
  { flow, declared }: Plan,
  { user }: LoginOptions,
): Promise<string> {
  const questions = { bearer: "Token", "api-key": "API key", basic: "Password" };
  const question = `${questions[flow as keyof typeof questions]} for ${agent}`;
  const isStdin = context.own("stdin").length > 0;
  if (flow === "basic" && user === undefined) throw usage("a login by name and password needs --user <name>");
  const secret = isStdin ? await secretFromStdin(context) : await askSecret(context, question);
  context.out.redactor.add(secret);
  if (secret === "") throw usage("the secret is empty, so nothing is stored");
  const isQuery = declared !== undefined && placeOf(declared)?.location === "query";
  const fits = flow === "basic" || isQuery ? !/\p{Cc}/u.test(secret) : headerForm.test(secret);
  if (!fits) throw usage("the secret has characters that cannot be sent, so nothing is stored");
  return flow === "basic" ? `${user}:${secret}` : secret;
}

/** Names the schemes that the agent requires as well. */
function noteOthers(context: Context, { agent, found: { card } }: AgentInterfaces, logins: readonly Login[]): void {
  const mine = new Set(logins.filter((login) => login.agent === agent).map(({ scheme }) => scheme));
  const has = { fits: () => true, apply: () => {} };
  const stored = Object.fromEntries([...mine].map((name) => [name, has]));
  if (chooseCredentials(card, stored).unmet === undefined) return;
  const missing = card.securityRequirements
    .map(({ schemes }) => Object.keys(schemes).filter((name) => !mine.has(name)))
    .toSorted((one, other) => one.length - other.length)[0];
  for (const name of missing ?? []) {
    context.out.note(`note: the agent also requires ${name}: ${loginCommand(context, "--scheme", name)}`);
  }
}
