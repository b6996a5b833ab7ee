import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { A2AService } from "../gen/lf/a2a/v1/a2a_pb.js";
import { importGraph, isBuiltin } from "./support/import-graph.js";

const root = fileURLToPath(new URL("..", import.meta.url));

/** Folders that each folder of src/ may import besides itself and generated code, with the reason. */
const layers: Record<string, { readonly may: readonly string[]; readonly because: string }> = {
  core: { may: [], because: "everything rests on it, so it rests on nothing of ours" },
  audit: { may: ["core"], because: "whoever decides about a caller records it; the record knows none of them" },
  wire: { may: ["core"], because: "codecs are pure and serve clients too: they must not drag a server in" },
  task: { may: ["core", "wire"], because: "what a task is does not depend on where it is kept or who runs it" },
  signals: { may: ["core"], because: "hints know neither what is stored nor who reads it" },
  store: {
    may: ["core", "signals", "task"],
    because: "a store keeps bytes and a head row; wires are none of its business",
  },
  agent: {
    may: ["core", "telemetry", "wire", "task", "auth"],
    because: "an author sees no engine and no store; of wire it takes only how messages hold JSON",
  },
  jwt: {
    may: ["core"],
    because: "tokens are verified for callers of a server and for receivers of notifications alike",
  },
  auth: {
    may: ["core", "audit", "jwt", "signals"],
    because: "who calls is found out before anything is done; an agent declares it",
  },
  engine: {
    may: ["core", "telemetry", "wire", "task", "signals", "store", "agent", "card"],
    because: "the service calls it; it knows no wire, no method",
  },
  version: {
    may: ["core", "wire", "task"],
    because: "whoever serves a version or names one looks it up here; it serves nobody",
  },
  card: {
    may: ["core", "audit", "wire", "agent", "auth", "version"],
    because: "a card describes agents; serving it is the server's part",
  },
  push: {
    may: ["core", "telemetry", "audit", "wire", "task", "store", "engine", "card", "version", "outgoing"],
    because: "notifications are cursors over the log; which calls ask for them is the service's business",
  },
  "push-receiver": {
    may: ["core", "wire", "jwt", "version"],
    because: "it is for whoever has a webhook: no server comes with it",
  },
  service: {
    may: [
      "core",
      "telemetry",
      "audit",
      "wire",
      "task",
      "signals",
      "store",
      "agent",
      "engine",
      "auth",
      "card",
      "version",
      "push",
    ],
    because: "one handler, many bindings: the handler must not know them",
  },
  telemetry: { may: ["core", "audit"], because: "every part counts and traces through it, so it knows none of them" },
  workers: {
    may: ["core", "signals", "telemetry", "http"],
    because: "it joins processes by what they hear, accept and count; what they do is none of its business",
  },
  admin: {
    may: [
      "core",
      "audit",
      "wire",
      "task",
      "store",
      "agent",
      "engine",
      "auth",
      "card",
      "version",
      "push",
      "service",
      "telemetry",
    ],
    because:
      "it stands beside the service, whose invoke and interceptors it shares; no binding and no listener is its own",
  },
  client: {
    may: ["core", "telemetry", "wire", "task", "version", "outgoing"],
    because: "it calls agents of any maker, from anywhere: nothing of a server comes with it",
  },
  console: {
    may: ["core", "audit", "auth", "wire", "jwt", "http", "admin", "push", "push-receiver"],
    because: "it gives browsers files, sessions, a relay and a webhook; the server hands it the operator's service",
  },
  examine: {
    may: ["core", "wire", "task", "card", "version", "client"],
    because: "it checks agents from outside, for the command line and in browsers: no server and no terminal",
  },
  ai: {
    may: ["core", "wire", "task", "agent"],
    because: "an agent of a model is an agent like any other: it uses what every author has, and nothing uses it",
  },
  delegation: {
    may: ["core", "telemetry", "wire", "task", "agent", "client"],
    because: "it joins the author's view with the client; the engine below and the server above know a seam of it",
  },
  outgoing: { may: ["core"], because: "connections to other servers, for clients and notifications: it knows neither" },
  http: {
    may: ["core", "audit", "wire"],
    because: "requests and responses as values, and what carries them: no method, no service",
  },
  binding: {
    may: ["core", "wire", "http", "service", "version"],
    because: "a binding meets the service through invoke alone, and takes what it speaks from the versions",
  },
  server: {
    may: [
      "core",
      "audit",
      "wire",
      "task",
      "signals",
      "store",
      "agent",
      "engine",
      "auth",
      "card",
      "service",
      "admin",
      "console",
      "telemetry",
      "http",
      "binding",
      "page",
      "version",
      "push",
      "client",
      "delegation",
      "workers",
    ],
    because: "the composition root sees everything but the command line",
  },
  page: { may: ["core", "wire", "card", "version"], because: "it shows a card, and knows no server" },
  testing: {
    may: ["core", "task", "store", "agent", "engine", "card", "service", "server", "version", "delegation"],
    because: "it serves an agent as a server does, but for the bindings",
  },
  cli: {
    may: [
      "core",
      "admin",
      "audit",
      "wire",
      "task",
      "signals",
      "store",
      "agent",
      "engine",
      "auth",
      "card",
      "push",
      "push-receiver",
      "page",
      "service",
      "http",
      "binding",
      "server",
      "console",
      "client",
      "examine",
      "version",
      "workers",
      "signals",
    ],
    because: "only the command line reads arguments and the environment, and it is on top",
  },
};

/** Packages that some folders may import. A name that ends in `:` or `/` stands for all names that begin with it. */
const packages: Record<string, { readonly may: readonly string[]; readonly because: string }> = {
  "push-receiver": { may: [], because: "it runs wherever there is WebCrypto and fetch" },
  core: { may: [], because: "no protocol's library decides what an error or a call is" },
  wire: {
    may: ["@bufbuild/protobuf", "@bufbuild/protobuf/"],
    because: "codecs serve clients in browsers too, which have no modules of Node.js",
  },
};

interface Import {
  readonly from: string;
  readonly to: string;
}

function sources(folder: string): string[] {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return sources(path);
    return /\.tsx?$/.test(path) ? [path] : [];
  });
}

/**
 * The imports of a file, including `import()` and types. A module that is loaded later must not depend on its loader
 * either.
 */
function importsOf(file: string): Import[] {
  const text = readFileSync(join(root, file), "utf8");
  const named = text.matchAll(
    /^(?:import|export)\b[^;"']*?from\s+["'](\.[^"']+)["']|^import\s+["'](\.[^"']+)["']|\bimport\(\s*["'](\.[^"']+)["']/gm,
  );
  return [...named].map((match) => ({
    from: file,
    to: sourceOf(normalize(join(dirname(file), match[1] ?? match[2] ?? match[3] ?? ""))),
  }));
}

/** Returns the source of an imported path, which ends in `.js` for components too. */
function sourceOf(path: string): string {
  const tsx = path.replace(/\.js$/, ".tsx");
  return existsSync(join(root, tsx)) ? tsx : path.replace(/\.js$/, ".ts");
}

function packagesOf(file: string): string[] {
  const text = readFileSync(join(root, file), "utf8");
  const named = text.matchAll(/(?:\bfrom\s+|^import\s+|\bimport\()["']([^."'][^"']*)["']/gm);
  return [...named].map((match) => match[1] ?? "");
}

function withoutComments(file: string): string {
  return readFileSync(join(root, file), "utf8").replace(/^\s*(?:\/?\*|\/\/).*$/gm, "");
}

const files = sources("src");
const imports = files.flatMap(importsOf);
const layerOf = (path: string): string | undefined => /^src\/([^/]+)\//.exec(path)?.[1];

describe("the layers of src/", () => {
  it("are all named here", () => {
    const folders = new Set(files.map(layerOf).filter((layer) => layer !== undefined));
    expect([...folders].filter((folder) => layers[folder] === undefined)).toEqual([]);
  });

  it.each(Object.entries(layers))("%s imports only what lies below it", (layer, { may, because }) => {
    // Types count as well, so no import points upwards.
    const wrong = imports.filter(({ from, to }) => {
      const target = layerOf(to);
      return layerOf(from) === layer && target !== undefined && target !== layer && !may.includes(target);
    });
    expect(
      wrong.map(({ from, to }) => `${from} imports ${to}`),
      because,
    ).toEqual([]);
  });

  it("let nobody but the composition root, the command line and itself name a database folder", () => {
    const wrong = imports.filter(({ from, to }) => {
      const database = /^src\/store\/(memory|sqlite|postgres)\//.exec(to)?.[0];
      return database !== undefined && !from.startsWith(database) && !/^src\/(server|cli|testing)\//.test(from);
    });
    expect(wrong.map(({ from, to }) => `${from} imports ${to}`)).toEqual([]);
  });

  it("keep the bindings apart: one can be taken away without touching another", () => {
    const bindingOf = (path: string): string | undefined => /^src\/binding\/([^/]+)\//.exec(path)?.[1];
    const wrong = imports.filter(({ from, to }) => {
      const [one, other] = [bindingOf(from), bindingOf(to)];
      return one !== undefined && other !== undefined && one !== other;
    });
    expect(wrong.map(({ from, to }) => `${from} imports ${to}`)).toEqual([]);
  });

  it.each(Object.entries(packages))("let %s import no other packages than it needs", (layer, { may, because }) => {
    const wrong = files
      .filter((file) => layerOf(file) === layer)
      .flatMap((file) => packagesOf(file).map((name) => ({ file, name })))
      .filter(({ name }) => !may.some((known) => name === known || name.startsWith(known)));
    expect(
      wrong.map(({ file, name }) => `${file} imports ${name}`),
      because,
    ).toEqual([]);
  });

  it("let the client write and read JSON by wire alone: what browsers get has no other", () => {
    const wrong = files.filter(
      (file) => layerOf(file) === "client" && /\b(?:to|from)Json(?:String)?\b/.test(withoutComments(file)),
    );
    expect(wrong).toEqual([]);
  });

  it("know of Buffer in one file of core and wire, which does without where there is none", () => {
    const wrong = files.filter(
      (file) => /^(core|wire)$/.test(layerOf(file) ?? "") && /\bBuffer\b/.test(withoutComments(file)),
    );
    expect(wrong).toEqual(["src/core/bytes.ts"]);
  });

  it("know in two files of core and wire what of the event loop and the process is not in every runtime", () => {
    const known = /\b(?:setImmediate|nextTick|process\.)/;
    const wrong = files.filter(
      (file) => /^(core|wire)$/.test(layerOf(file) ?? "") && known.test(withoutComments(file)),
    );
    expect(wrong).toEqual(["src/core/event-loop.ts", "src/core/lazy.ts"]);
  });

  it("let nothing of Node.js into what the client is elsewhere", () => {
    const { files: reached, outside } = importGraph("src/client/web.ts");
    expect(reached.size).toBeGreaterThan(40);
    expect([...outside].filter(([name]) => isBuiltin(name) || name === "undici" || name.startsWith("undici/"))).toEqual(
      [],
    );
    const inNode = [...reached]
      .map((file) => relative(root, file))
      .filter((file) => file.startsWith("src/client/node/"));
    expect(inNode).toEqual([]);
  });

  it("make connections of undici in one file, with the connectors of others", () => {
    const code = (file: string): boolean =>
      /^import (?!type\b).*"undici(?!\/lib\/core\/connect\.js)/m.test(withoutComments(file));
    expect(files.filter(code)).toEqual(["src/outgoing/connections.ts"]);
    const later = files.filter((file) => /(?<!typeof )\bimport\("undici/.test(withoutComments(file)));
    expect(later).toEqual([]);
  });

  it("have no import cycle, nor has the web app, types and later imports included", () => {
    const app = sources("console/src").flatMap(importsOf);
    expect(app.some(({ to }) => to.endsWith(".tsx"))).toBe(true);
    expect(cycles([...imports, ...app])).toEqual([]);
  });

  it("name an rpc in the service, the command line, checks of agents and the tables of other versions only", () => {
    const names = A2AService.methods.map((method) => method.name);
    const allowed = /^src\/((?:service|admin)\/operations\/|cli\/|examine\/|version\/)/;
    const wrong = files
      .filter((file) => !allowed.test(file))
      .flatMap((file) => {
        const text = readFileSync(join(root, file), "utf8");
        return names.filter((name) => new RegExp(`\\b${name}\\b`).test(text)).map((name) => `${file} names ${name}`);
      });
    expect(wrong).toEqual([]);
  });

  it("lie below the contract suite, which knows the seam of stores and nothing of who calls one", () => {
    const wrong = sources("contract")
      .flatMap(importsOf)
      .filter(({ to }) => !/^(?:contract|gen|src\/(?:core|task))\/|^src\/(?:store|signals)\/[^/]+$/.test(to));
    expect(wrong.map(({ from, to }) => `${from} imports ${to}`)).toEqual([]);
    expect(imports.filter(({ to }) => to.startsWith("contract/"))).toEqual([]);
  });

  it("give the web app what clients have, and nothing that runs on a server", () => {
    const wrong = sources("console/src")
      .flatMap(importsOf)
      .filter(({ to }) => !/^(?:console\/src|gen|src\/(?:core|wire|task|version|card|client|examine))\//.test(to));
    expect(wrong.map(({ from, to }) => `${from} imports ${to}`)).toEqual([]);
    expect(imports.filter(({ to }) => to.startsWith("console/"))).toEqual([]);
  });

  it("read the environment and print in the command line only", () => {
    const wrong = files.filter(
      (file) =>
        !file.startsWith("src/cli/") &&
        /\bprocess\.(env|argv|stdout)\b|\bconsole\.(?:log|info|warn|error|debug|trace|dir|table)\b/.test(
          readFileSync(join(root, file), "utf8"),
        ),
    );
    expect(wrong).toEqual([]);
  });
});

function cycles(edges: readonly Import[]): string[] {
  const next = new Map<string, string[]>();
  for (const { from, to } of edges) next.set(from, [...(next.get(from) ?? []), to]);
  const done = new Set<string>();
  const found: string[] = [];
  const visit = (file: string, path: readonly string[]): void => {
    const start = path.indexOf(file);
    if (start >= 0) found.push([...path.slice(start), file].join(" -> "));
    if (start >= 0 || done.has(file)) return;
    for (const to of next.get(file) ?? []) visit(to, [...path, file]);
    done.add(file);
  };
  for (const file of next.keys()) visit(file, []);
  return found;
}
