import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import type { Node, SourceFile } from "typescript/unstable/ast";
import {
  isAsExpression,
  isForOfStatement,
  isFunctionLikeDeclaration,
  isYieldExpression,
} from "typescript/unstable/ast/is";
import { API } from "typescript/unstable/sync";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { defaultLimits } from "../src/core/limits.js";

const root = fileURLToPath(new URL("..", import.meta.url));
const files = ["src", "contract", "console/src"].flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
    .filter((name) => /\.tsx?$/.test(name))
    .map((name) => join(folder, name)),
);
const textOf = (file: string): string => readFileSync(join(root, file), "utf8");
const linesOf = (file: string): string[] => textOf(file).split("\n");

const MAX_FILE_LINES = 400;
const MAX_FUNCTION_LINES = 60;
const MAX_CASTS_PER_1000_LINES = 5;
const MAX_CORE_FILES = 16;
const MAX_PUBLIC_LIMITS = 42;

/** Turns of phrase that make a comment hard to read, and the maximum number of comments that may have them. */
const phrases: readonly (readonly [phrase: RegExp, most: number])[] = [
  [/\bwhat (?:is|has)\b/i, 0],
  [/\b(?:who|nobody)\b/i, 9],
  [/\bis no\b/i, 0],
  [/^(?:what|where|whose?|how|why|whether|that)\b/i, 0],
];

/** The same for folders that are not part of the package. */
const outerPhrases: readonly (readonly [phrase: RegExp, most: number])[] = [
  [/\bwhat (?:is|has)\b/i, 0],
  [/\b(?:who|nobody)\b/i, 0],
  [/\bis no\b/i, 0],
  [/^(?:what|whose?|which|how|whether)\b/i, 0],
];

/** Places with their own `Promise.race`, and the reason why no function of `core/async.ts` fits. */
const races: Readonly<Record<string, string>> = {
  "src/core/async.ts": "it is the toolbox",
  "src/engine/run/agent-end.ts": "the agent's end or the task's, whichever comes first, both within the grace",
};

/** Files with their own streams over other streams, and the reason why `mapStream` does not fit. */
const streams: Readonly<Record<string, string>> = {
  "src/core/map-stream.ts": "it is the toolbox",
  "src/admin/operations/task-entries.ts": "an answer is several entries, and the size of each is admitted",
  "src/admin/operations/transfer.ts": "each piece waits until it is admitted",
  "src/ai/model-call.ts": "chunks become none or one, and events come between them",
  "src/binding/connect/large.ts": "a message becomes many pieces",
  "src/binding/connect/stream.ts": "it closes its source while an item is pending, and waits for the written form",
  "src/binding/grpc/internal-routes.ts":
    "it ends with the server while a request is pending, and answers may be promises",
  "src/cli/a2a/chat/chat.ts": "empty lines are left out, and a timer runs between lines",
  "src/cli/a2a/listen/listen.ts": "empty lines are left out",
  "src/client/ai-sdk/chat-transport.ts": "it fails once stopped, and cancels the task of its pending first item",
  "src/client/ai-sdk/chunks.ts": "an update becomes several chunks, and a failure becomes one",
  "src/client/follow/conversation.ts": "its messages wait for their turn before the stream opens",
  "src/client/follow/task-follower.ts": "it reads several connections, one after the other",
  "src/client/follow/update.ts": "it ends before its source does",
  "src/client/transport/framed.ts": "bytes become frames, and frames become messages until one ends the stream",
  "src/client/transport/json.ts": "some events are heartbeats, and one may end the stream",
  "src/delegation/delegate.ts": "an update becomes any number of events",
  "src/engine/read/log-reader.ts": "it is a reader of the log",
  "src/service/operations/send.ts": "a large event waits until it is admitted",
  "src/store/copy/copy.ts": "many rows become one digest",
  "src/store/postgres/copy-source.ts": "it reads several queries, one after the other",
  "src/telemetry/tracer.ts": "its source runs in the context of a span, also when it is asked for an item",
  "src/testing/process.ts": "it ends with its process while an item is pending",
  "src/version/ended-events.ts": "it adds and drops items",
  "src/version/v0.1/events.ts": "an event becomes any number of events",
  "src/wire/sse.ts": "bytes become events",
};

/** Promises that only a timer resolves, and the reason why `pause` of `core/async.ts` does not fit. */
const pauses: Readonly<Record<string, string>> = {
  "src/page/script.ts": "it is the script of a page, without modules",
};

/** Places that create an AbortController on demand, and the reason why `LazyAbortController` does not fit. */
const lazyControllers: Readonly<Record<string, string>> = {
  "src/core/async.ts": "it is the toolbox",
  "src/binding/grpc/embedded/call.ts": "grpc-js notifies it only if a signal or a callback is asked for",
  "src/client/calls/call-scope.ts":
    "it has a reason, and listeners that are removed by function as an AbortSignal's are",
};

/**
 * Files with symbols as property keys, and the objects that have them. Facts that travel with a protobuf message are
 * fields of `Marks`: a second symbol on messages would have its own rules for copies.
 */
const symbols: Readonly<Record<string, string>> = {
  "src/wire/marks.ts": "messages: the one symbol",
  "src/wire/serialization-cache.ts": "messages: a cache, which copies must not have",
  "src/task/entry.ts": "entries of the log: a cache of their response, read for each event",
  "src/push/notification.ts": "entries of the log: a cache of their notification",
  "src/agent/delegation.ts": "events of an agent, which are plain objects",
  "src/agent/event.ts": "events of an agent, which are plain objects",
  "src/agent/turn.ts": "turns",
  "src/ai/ask-user.ts": "tools of a model",
  "src/binding/grpc/exchange.ts": "streams of HTTP/2",
  "src/binding/grpc/incoming.ts": "streams of HTTP/2",
  "src/binding/grpc/rejections.ts": "streams of HTTP/2",
  "src/client/node/http2.ts": "streams of HTTP/2",
  "src/core/maps.ts": "values of a TransientSet",
  "src/http/node/exchange.ts": "requests and responses",
  "src/http/node/handler.ts": "sockets",
  "src/http/node/http2-sessions.ts": "sessions and streams of HTTP/2",
  "src/http/node/peer.ts": "sockets",
  "src/http/node/waiting-answers.ts": "sockets",
};

/** Lines outside `version/` that contain the number of a protocol version, or a text like one. */
const numbers: Readonly<Record<string, string>> = {
  'src/wire/service-params.ts: export const EMPTY_VERSION = "0.3";': "an empty header has a version (3.6.2)",
  "src/wire/service-params.ts: * is 0.3 (3.6.2). Undefined for an invalid version.": "its comment",
  "src/push/host-limiter.ts: const SAMPLE_SHARE = 0.1;": "a share",
  "src/binding/grpc/server.ts: idleTimeoutMs: Math.ceil(limits.requestTimeoutMs * 1.1),": "a factor",
  'src/binding/connect/universal.ts: if (request.httpVersion !== "1.1") {': "the version of HTTP",
  'src/cli/operate/service.ts: httpVersion: "1.1",': "the version of HTTP",
};

/** Module-level declarations with names that had several meanings before. */
const homonym =
  /^(?:export )?(?:async )?(?:const|let|function\*?|class|interface|type|enum) (textOf|joined|refused|Exchange|Answer|Place)\b/;

describe("the code of src/, contract/ and console/", () => {
  let api: API;
  const parsed: SourceFile[] = [];

  beforeAll(() => {
    api = new API({ cwd: root });
    const openProjects = ["tsconfig.json", "console/tsconfig.json"].map((file) => join(root, file));
    const projects = api.updateSnapshot({ openProjects }).getProjects();
    for (const file of files) {
      const sources = projects.map(({ program }) => program.getSourceFile(join(root, file)));
      parsed.push(sources.find((source) => source !== undefined)!);
    }
  }, 30_000);
  afterAll(() => api.close());

  it(`has at most ${MAX_FILE_LINES} lines in a file`, () => {
    const long = files.filter((file) => linesOf(file).length - 1 > MAX_FILE_LINES);
    expect(long).toEqual([]);
  });

  it(`has at most ${MAX_FUNCTION_LINES} lines in a function`, () => {
    const sizes = parsed.flatMap((file) =>
      functionsIn(file).map((line) => ({ file: relative(root, file.fileName), ...line })),
    );
    expect(sizes.length).toBeGreaterThan(4_000);
    expect(sizes.filter(({ lines }) => lines > MAX_FUNCTION_LINES)).toEqual([]);
  });

  it(`has at most ${MAX_CASTS_PER_1000_LINES} casts in 1,000 lines of src`, () => {
    const sources = parsed.filter(({ fileName }) => relative(root, fileName).startsWith("src"));
    const casts = sources.reduce((sum, file) => sum + castsIn(file), 0);
    const lines = sources.reduce((sum, { text }) => sum + text.split("\n").length - 1, 0);
    expect(casts).toBeGreaterThan(100);
    expect((casts * 1_000) / lines).toBeLessThanOrEqual(MAX_CASTS_PER_1000_LINES);
  });

  it.each(phrases)("has %s in few comments", (phrase, most) => {
    const comments = files.flatMap((file) => commentsIn(textOf(file)).map((text) => ({ file, text })));
    expect(comments.length).toBeGreaterThan(10_000);
    const found = comments.filter(({ text }) => phrase.test(text));
    expect(found.length, JSON.stringify(found, null, 2)).toBeLessThanOrEqual(most);
  });

  it("names files that exist in comments", () => {
    const named = files.flatMap((file) =>
      commentsIn(textOf(file))
        .flatMap((text) => [...text.matchAll(/`((?!\.\/)[\w./-]+\.(?:tsx?|mjs))`/g)])
        .map(([, name = ""]) => ({ file, name })),
    );
    expect(named.length).toBeGreaterThan(10);
    const isFile = ({ file, name }: { readonly file: string; readonly name: string }): boolean =>
      [".", "src", dirname(file), join(dirname(file), "..")].some((base) => existsSync(join(root, base, name)));
    expect(named.filter((each) => !isFile(each))).toEqual([]);
  });

  it("races promises by core/async.ts, except in places with a reason", () => {
    const racing = files.filter((file) => textOf(file).includes("Promise.race("));
    expect(racing.sort()).toEqual(Object.keys(races).sort());
  });

  it("has streams over streams by core/map-stream.ts, except in places with a reason", () => {
    const wrapping = parsed.filter(hasOwnStream).map(({ fileName }) => relative(root, fileName));
    expect(wrapping.sort()).toEqual(Object.keys(streams).sort());
  });

  it("pauses by core/async.ts, not by the promises of Node.js timers", () => {
    const pausing = files.filter((file) => /\bsetTimeout\b[^;]*"node:timers\/promises"/.test(textOf(file)));
    expect(pausing).toEqual([]);
    const own = /\bnew Promise\b(?:<\w+>)?\(\(?\w*\)?\s*=>\s*\{?\s*setTimeout\(/;
    expect(files.filter((file) => own.test(textOf(file)))).toEqual(Object.keys(pauses));
  });

  it("grows delays by backoffMs() of core/async.ts only", () => {
    // Powers with a constant exponent are sizes and bounds.
    const growing = /\b2 \*\* (?!\d|[A-Z_]+\b)|\bMath\.pow\(2,|Ms(?: \* 2\b(?!\) \/)| \*= 2\b)/;
    expect(files.filter((file) => growing.test(textOf(file)))).toEqual(["src/core/async.ts"]);
    expect(textOf("src/core/async.ts").match(new RegExp(growing, "g"))).toHaveLength(1);
  });

  it(`has at most ${MAX_CORE_FILES} files in core/, on which everything rests, and ${MAX_PUBLIC_LIMITS} public limits`, () => {
    expect(files.filter((file) => /^src\/core\//.test(file)).length).toBeLessThanOrEqual(MAX_CORE_FILES);
    expect(Object.keys(defaultLimits).length).toBeLessThanOrEqual(MAX_PUBLIC_LIMITS);
  });

  it("creates an AbortController on demand by core/async.ts, except in places with a reason", () => {
    const made = /(?:=== undefined\) \{?\s*this\.#?\w+ =|\?\?=) new AbortController\b/;
    const lazy = files.filter((file) => made.test(textOf(file)));
    expect(lazy.sort()).toEqual(Object.keys(lazyControllers).sort());
  });

  it("has symbols as property keys in places with a reason, and one for the facts of a message", () => {
    const keyed = files.filter((file) => /\bSymbol\(/.test(textOf(file)));
    expect(keyed.sort()).toEqual(Object.keys(symbols).sort());
    expect(textOf("src/wire/marks.ts").match(/\bSymbol\(/g)).toHaveLength(1);
  });

  it("uses only what grpc-js documents", () => {
    const inner = /\b(?:nextCall|http2Stream|bufferedMessages)\b|\.stream\b|node:http2/;
    const embedded = files.filter((file) => file.startsWith("src/binding/grpc/embedded/"));
    expect(embedded.length).toBeGreaterThan(3);
    expect(embedded.filter((file) => inner.test(textOf(file)))).toEqual([]);
  });

  it("names the number of a protocol version in version/ and in lines with a reason only", () => {
    const neutral = /^src\/(?:core\/call\.ts|(?:engine|wire|push|binding|page|cli)\/)/;
    const number = /(?<![\w.]|HTTP\/)v?(?:0\.[123]|1\.1)(?!\.?\w)|(["'`])v?[01]\.\d+\1/;
    const naming = files
      .filter((file) => neutral.test(file))
      .flatMap((file) => linesOf(file).map((line) => [file, line.trim()] as const))
      .filter(([, line]) => number.test(line));
    expect(naming.map((each) => each.join(": ")).sort()).toEqual(Object.keys(numbers).sort());
  });

  it("names the facts of a version in version/ and the service only, and not in core/call.ts", () => {
    const facts = /\b(?:versionFacts|versionFactsOf|setVersionFacts|namesConfigByTask|hasGenerations)\b/;
    const naming = files.filter((file) => /^src\//.test(file) && facts.test(textOf(file)));
    expect(naming.filter((file) => !/^src\/(?:version|service)\//.test(file))).toEqual(["src/core/call.ts"]);
    const inCore = textOf("src/core/call.ts").match(/\b(?:versionFacts|namesTasks|namesConfigByTask|generations)\b/g);
    expect(inCore).toEqual(["versionFacts"]);
    const setting = files.filter((file) => /\bsetVersionFacts\(|\.versionFacts =/.test(textOf(file)));
    expect(setting.length).toBeGreaterThan(3);
    expect(setting.filter((file) => !file.startsWith("src/version/"))).toEqual([]);
  });

  it("declares each former homonym at most once", () => {
    const declared = files.flatMap(linesOf).flatMap((line) => homonym.exec(line)?.[1] ?? []);
    expect(declared).toContain("textOf");
    expect(declared.filter((name, at) => declared.indexOf(name) < at)).toEqual([]);
  });
});

describe("the repository", () => {
  it("has one configuration of Vitest, and no scripts for the shell of Windows", () => {
    const configs = filesBelow(root).filter((name) =>
      /(?:^|\/)(?:vitest|vite)\b.*\.config\.\w+$|\.(?:cmd|bat)$/.test(name),
    );
    expect(configs.sort()).toEqual(["console/vite.config.ts", "vitest.config.ts"]);
  });

  it.each(outerPhrases)("has %s in few comments of examples, templates, tools, bench and console", (phrase, most) => {
    const folders = ["examples", "templates", "tools", "bench", "console"].map((folder) => join(root, folder));
    const comments = folders
      .flatMap(filesBelow)
      .filter((file) => /\.(?:[jt]sx?|mjs)$/.test(file))
      .flatMap((file) => commentsIn(textOf(file)).map((text) => ({ file, text })));
    expect(comments.length).toBeGreaterThan(2_000);
    const found = comments.filter(({ text }) => phrase.test(text));
    expect(found.length, JSON.stringify(found, null, 2)).toBeLessThanOrEqual(most);
  });
});

/** The files of the repository, without installed and built ones. */
function filesBelow(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return /^(?:node_modules|dist|\..*)$/.test(entry.name) ? [] : filesBelow(path);
    return [relative(root, path)];
  });
}

/** The comments of a file, each joined to one line. Consecutive lines of `//` are one comment. */
function commentsIn(text: string): string[] {
  const blocks = text.matchAll(/^[ \t]*\/\*[\s\S]*?\*\/|^(?:[ \t]*\/\/.*\n)+/gm);
  return [...blocks].map(([block]) =>
    block
      .replace(/\*\/$/, "")
      .replace(/^\s*(?:\/\*+|\*|\/\/)/gm, "")
      .replace(/\s+/g, " ")
      .trim(),
  );
}

/** Number of casts in a file, without `as const`. */
function castsIn(file: SourceFile): number {
  let found = 0;
  const visit = (node: Node): void => {
    if (isAsExpression(node) && node.type.getText(file) !== "const") found++;
    node.forEachChild(visit);
  };
  visit(file);
  return found;
}

/** True for a file with its own iterator, or with a generator that yields while it reads another stream. */
function hasOwnStream(file: SourceFile): boolean {
  if (/^\s*(?:async \*)?\[Symbol\.asyncIterator\](?::|\(\).*\{$)/m.test(file.text)) return true;
  const isFound = (node: Node, isInside: boolean): boolean => {
    if (isInside && isYieldExpression(node)) return true;
    const isFunction = isFunctionLikeDeclaration(node);
    const text = isFunction ? node.getText(file) : "";
    if (/\[Symbol\.asyncIterator\]\(\)/.test(text) && /^(?:export )?async (?:function)? ?\*/.test(text)) return true;
    const isReading = isForOfStatement(node) && node.awaitModifier !== undefined;
    return node.forEachChild((child) => isFound(child, !isFunction && (isInside || isReading)) || undefined) === true;
  };
  return isFound(file, false);
}

/** The first line of each function in a file, and its number of lines with the signature. */
function functionsIn(file: SourceFile): { readonly line: number; readonly lines: number }[] {
  const ends = [...file.text.matchAll(/\n/g)].map(({ index }) => index);
  const lineAt = (position: number): number => ends.filter((end) => end < position).length + 1;
  const found: { readonly line: number; readonly lines: number }[] = [];
  const visit = (node: Node): void => {
    if (isFunctionLikeDeclaration(node) && node.body !== undefined) {
      const line = lineAt(node.getStart(file));
      found.push({ line, lines: lineAt(node.end) - line + 1 });
    }
    node.forEachChild(visit);
  };
  visit(file);
  return found;
}
