import { describe, expect, it } from "vitest";
import type { Agent } from "../../src/agent/agent.js";
import { completed } from "../../src/agent/event.js";
import type { ServerOptions } from "../../src/server/options.js";
import { resolveOptions } from "../../src/server/resolve-options.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { testTls } from "./tls.js";

const agent: Agent = {
  card: { name: "Probe", description: "Answers.", version: "1.0.0" },
  async *execute() {
    yield completed();
  },
};
const plain: ServerOptions = { agent, store: memoryStore() };
const faultsOf = (options: object): string => {
  try {
    resolveOptions({ ...plain, ...options } as ServerOptions);
    return "";
  } catch (error) {
    return (error as Error).message;
  }
};

describe("settle()", () => {
  it("has a default for everything but the agent and the store", () => {
    expect(resolveOptions(plain)).toMatchObject({
      host: "127.0.0.1",
      port: 8080,
      grpcPort: 50051,
      tls: undefined,
      cors: undefined,
      trust: undefined,
      publicUrl: undefined,
      cardGrpc: "address",
      cardMaxAgeSeconds: 300,
      basePath: "",
      engine: {},
      service: {},
    });
  });

  it("takes what is given", () => {
    const settings = resolveOptions({
      ...plain,
      limits: { maxParts: 5, shutdownGraceMs: 0 },
      publicUrl: "https://example.org/agents/",
      grpcPublicUrl: "grpc.example.org:443",
      grpcPort: false,
      tls: testTls,
      cors: ["https://a.example", "*"],
      trustProxy: ["loopback", "10.0.0.0/8"],
      strictVersion: true,
      retentionMs: 1_000,
    });
    expect(settings).toMatchObject({
      limits: { maxParts: 5, shutdownGraceMs: 0, maxExecutions: 10_000 },
      publicUrl: "https://example.org/agents",
      grpcPort: undefined,
      cors: true,
      service: { strictVersion: true },
      engine: { retentionMs: 1_000 },
    });
    const trusted = ["127.0.0.1", "::1", "10.1.2.3", "::ffff:10.1.2.3", "11.0.0.1", "", "no address"];
    expect(trusted.map((address) => settings.trust?.(address))).toEqual([true, true, true, true, false, false, false]);
  });

  it("trusts every proxy, or none", () => {
    expect(resolveOptions({ ...plain, trustProxy: true }).trust?.("192.0.2.1")).toBe(true);
    for (const trustProxy of [false, [], ""]) expect(resolveOptions({ ...plain, trustProxy }).trust).toBeUndefined();
  });

  it("lets an agent be an object with more in it", () => {
    expect(faultsOf({ agent: { ...agent, responds: "task", response: 1, executor: 2, name: "x" } })).toBe("");
  });

  it("knows no ports where nothing listens", () => {
    expect(() => resolveOptions({ ...plain, port: 80 }, false)).toThrow("the option port belongs to createServer");
  });

  it("says so when there are no options at all", () => {
    for (const none of [undefined, null, "options"])
      expect(() => resolveOptions(none as never)).toThrow("they are missing");
  });

  it("declares the extensions that the server brings", () => {
    const [served] = resolveOptions(plain).agents.all;
    expect(served?.card.capabilities?.extensions.map(({ uri }) => uri)).toEqual([
      "urn:parley:ext:resume:v1",
      "urn:parley:ext:idempotency:v1",
    ]);
  });

  it.each([
    [{ store: undefined }, "store is missing: sqliteStore(path) or memoryStore()"],
    [{ store: "tasks.db" }, 'store is a text: write sqliteStore("tasks.db")'],
    [{ store: { path: "tasks.db" } }, "store is an object with the members path, not a store: write sqliteStore(path)"],
    [{ store: Promise.resolve(memoryStore()) }, "store is a promise: write await postgresStore({ url })"],
    [{ store: () => {} }, "store is a function, not a store"],
    [{ security: {} }, "security is not an option: it belongs on the agent"],
    [{ accept() {} }, "accept is not an option: it belongs on the agent"],
    [{ agent: { ...agent, acept() {} } }, "the agent's field acept is not known: did you mean accept?"],
    [{ port: 65_536 }, "port is 65536, not a whole number from 0 to 65535"],
    [{ grpcPort: 1.5 }, "grpcPort is 1.5, not a whole number from 0 to 65535"],
    [{ port: 80, grpcPort: 80 }, "port and grpcPort are the same"],
    [{ host: "a b" }, 'host is "a b", not a name or address'],
    [{ host: "localhost:80" }, 'host is "localhost:80", not a name or address'],
    [{ host: "[::1]" }, 'host is "[::1]", not a name or address'],
    [{ host: "" }, 'host is "", not a name or address'],
    [{ limits: { maxParts: 0 } }, "limits.maxParts is 0, not a whole number from 1 to 2147483647"],
    [{ limits: { maxPart: 1 } }, "limits.maxPart is not known: did you mean maxParts?"],
    [{ limits: { constructor: 1 } }, "limits.constructor is not known"],
    [{ port: "8080" }, 'port is "8080", not a whole number'],
    [{ authenticator: () => undefined }, "authenticator has no function authenticate"],
    [{ authenticator: null }, "authenticator has no function authenticate"],
    [{ authenticator: { authentcate() {} } }, "authenticator has no function authenticate"],
    [{ logger: true }, "logger has no function debug, info, warn, error"],
    [{ logger: { info() {} } }, "logger has no function debug, warn, error"],
    [{ strictVersion: "yes" }, 'strictVersion is "yes", not true or false'],
    [{ idempotentMessageIds: "no" }, 'idempotentMessageIds is "no", not true or false'],
    [{ cors: "https://x.example" }, "cors is a text, not true or a list of origins"],
    [{ audit: "off" }, 'audit is "off", not true, false or an object with a function write'],
    [{ interceptors: [7] }, "interceptors[0] is 7, not a function"],
    [{ strictVersion: Object.create(null) }, "strictVersion is a value of type object, not true or false"],
    [{ remoteAgents: { a: "ftp://b" } }, 'remoteAgents.a.url is "ftp://b", not a URL of http or https'],
    [{ remoteAgents: { a: { uri: "" } } }, "remoteAgents.a.url is missing; remoteAgents.a.uri is not known: did you"],
    [
      { remoteAgents: { a: { url: "https://a.example", passCaller: "false" } } },
      'remoteAgents.a.passCaller is "false", not true or false',
    ],
    [{ tenants: "abc" }, "tenants is not a list"],
    [{ agent: undefined, agents: [agent] }, "agents is a list"],
    [{ agent: { ...agent, extendedCard: "x" } }, "extendedCard is neither a card nor a function"],
    [{ prot: 80 }, "the option prot is not known: did you mean port?"],
    [{ GRPCPort: 80 }, "the option GRPCPort is not known: did you mean grpcPort?"],
    [{ quiteAnother: undefined }, "the option quiteAnother is not known"],
    [{ agent: { ...agent, respond: "message" } }, "the agent's field respond is not known: did you mean responds?"],
    [{ agent: { ...agent, recovery: "fail" } }, "the agent's field recovery is not known: did you mean recover?"],
    [{ agent: { ...agent, responds: "messages" } }, 'responds is "messages", not "task", "message" or "either"'],
    [{ agent: { ...agent, recover: "retry" } }, 'recover is "retry", not "fail", "restart" or a function'],
    [{ publicUrl: "example.org" }, 'publicUrl is "example.org", not an absolute http or https URL'],
    [{ publicUrl: "https://a:b@example.org" }, "publicUrl"],
    [{ publicUrl: "https://example.org/?a" }, "publicUrl"],
    [{ publicUrl: "ftp://example.org" }, "publicUrl"],
    [{ grpcPublicUrl: "https://example.org" }, 'grpcPublicUrl is "https://example.org", not of the form host:port'],
    [{ grpcPublicUrl: "example.org" }, "grpcPublicUrl"],
    [{ versions: "1.0" }, 'versions is a text, not a list of versions such as "1.0"'],
    [{ versions: ["1.0", "9.9"] }, 'versions[1] is "9.9", not "1.0"'],
    [{ versions: [] }, 'versions has no "1.0", which cannot be switched off'],
    [{ cardGrpc: true }, 'cardGrpc is true, not "address", "url" or "omit"'],
    [{ tls: { key: "k", cert: "" } }, "tls needs both key and cert"],
    [{ tls: { key: "k", cert: "c" } }, "tls: cert is not a certificate in PEM"],
    [{ cors: ["app.example.org"] }, 'cors[0] is "app.example.org", not an origin'],
    [{ cors: ["https://app.example.org/"] }, "not an origin"],
    [{ trustProxy: "nowhere" }, "trustProxy: invalid IP address: nowhere"],
    [{ cardMaxAgeSeconds: -1 }, "cardMaxAgeSeconds is -1"],
    [{ retentionMs: 0 }, "retentionMs is 0"],
    [{ maxRestarts: -1 }, "maxRestarts is -1"],
    [{ basePath: "agents" }, 'basePath is "agents", not of the form /path'],
    [{ basePath: "/agents/" }, "basePath"],
    [{ tenants: ["tasks"] }, 'the tenant "tasks" is reserved'],
  ])("refuses %o", (options, fault) => {
    expect(faultsOf(options)).toContain(fault);
  });

  const unreadable = new Proxy({}, { ownKeys: () => expect.fail(), get: () => expect.fail() });
  const { proxy: revoked, revoke } = Proxy.revocable({}, {});
  revoke();
  const many = Array(200_000).fill("a b");
  const tenOf = (name: string) => new RegExp(`^Invalid \\w+: (?:[^;]*${name}[^;]*; ){10}…$`);

  it.each<[object, string | RegExp]>([
    [{ limits: unreadable }, "limits cannot be read"],
    [{ limits: revoked }, "limits cannot be read"],
    [
      {
        limits: {
          get maxEvents() {
            throw new Error();
          },
        },
      },
      "limits.maxEvents",
    ],
    [{ store: revoked }, "store cannot be read"],
    [{ logger: unreadable }, "logger cannot be read"],
    [{ cors: revoked }, "cors cannot be read"],
    [
      {
        remoteAgents: {
          a: {
            get url() {
              throw new Error();
            },
          },
        },
      },
      "remoteAgents.a.url cannot be read",
    ],
    [
      {
        get port() {
          throw new Error();
        },
      },
      "they cannot be read",
    ],
    [{ agents: "x" }, "agents is a text"],
    [{ remoteAgents: { a: { url: "https://a.example", fetch: 5 } } }, "remoteAgents.a.fetch is 5, not a function"],
    [{ cors: many }, tenOf("cors")],
    [{ interceptors: many }, tenOf("interceptors")],
    [{ remoteAgents: many }, tenOf("remoteAgents")],
    [{ tenants: many.map(() => "a/b") }, tenOf("tenant")],
    [{ limits: Object.fromEntries(many.map((_, i) => [`x${i}`, 1])) }, tenOf("limits")],
    [Object.fromEntries(many.slice(0, 9_999).map((_, i) => [`x${i}`, 1])), tenOf("the option")],
  ])("names the first faults of options of any size, also of those that cannot be read (%#)", (options, fault) => {
    expect(() =>
      resolveOptions(Object.defineProperties({ ...plain }, Object.getOwnPropertyDescriptors(options))),
    ).toThrow(fault);
  });

  const secret = "ftp://user:SECRET@host.example/p?token=SECRET#SECRET";

  it.each<[object, string]>([
    [{ store: secret }, 'write sqliteStore("ftp://…@host.example/p?…")'],
    [{ publicUrl: secret }, 'publicUrl is "ftp://…@host.example/p?…", not'],
    [{ grpcPublicUrl: "user:SECRET@host.example:1" }, 'grpcPublicUrl is "…@host.example:1", not'],
    [{ cors: [secret] }, 'cors[0] is "ftp://…@host.example/p?…", not'],
    [{ trustProxy: secret }, "trustProxy: invalid IP address: ftp://…@host.example"],
    [{ trustProxy: [secret] }, "trustProxy: invalid IP address: ftp://…@host.example"],
    [{ allowedHosts: ["user:SECRET@host.example"] }, 'allowedHosts[0] is "…@host.example", not'],
    [{ host: "user:SECRET@host.example" }, 'host is "…@host.example", not'],
    [{ basePath: secret }, 'basePath is "ftp://…@host.example/p?…", not'],
    [{ push: { allow: [secret] } }, 'push.allow[0] is "ftp://…@host.example/p?…", not'],
    [{ tenants: [secret] }, 'the tenant "ftp://…@host.example/p?…" contains a slash'],
    [{ tenants: [7] }, "a tenant is 7, not a text"],
    [{ remoteAgents: secret }, 'remoteAgents is "ftp://…@host.example/p?…", not'],
    [{ remoteAgents: { a: secret } }, 'remoteAgents.a.url is "ftp://…@host.example/p?…", not'],
    [{ remoteAgents: { a: { url: secret } } }, 'remoteAgents.a.url is "ftp://…@host.example/p?…", not'],
    [{ versions: [secret] }, 'versions[0] is "ftp://…@host.example/p?…", not'],
    [{ host: `${"x".repeat(1_000)} ` }, `host is "${"x".repeat(100)}…", not`],
  ])("names no secret and shortens long texts (%#)", (options, fault) => {
    const faults = faultsOf(options);
    expect(faults).toContain(fault);
    expect(faults).not.toContain("SECRET");
  });

  it("names everything that is wrong at once, the card included", () => {
    const card = { ...agent.card, name: "" };
    expect(faultsOf({ agent: { ...agent, card }, port: -1, cors: ["x"] })).toBe(
      'Invalid options: cors[0] is "x", not an origin such as https://app.example.org; ' +
        "port is -1, not a whole number from 0 to 65535; card.name is empty",
    );
  });
});
