import { randomBytes } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import type { HttpRequest } from "../http/request.js";
import type { HttpResponse } from "../http/response.js";
import { consoleFolder } from "./folder.js";

/** A file of the web app, with its compressed copy. */
interface Asset {
  readonly type: string;
  readonly bytes: Uint8Array;
  readonly brotli: Uint8Array | undefined;
}

const types: Readonly<Record<string, string>> = {
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
  svg: "image/svg+xml",
  png: "image/png",
  json: "application/json",
  wasm: "application/wasm",
  woff2: "font/woff2",
};

/** Headers of every answer of the console. */
export const safeHeaders: readonly (readonly [string, string])[] = [
  ["x-content-type-options", "nosniff"],
  ["referrer-policy", "no-referrer"],
  ["cross-origin-opener-policy", "same-origin"],
  ["cross-origin-resource-policy", "same-origin"],
  ["permissions-policy", "camera=(), geolocation=(), microphone=(), payment=(), usb=()"],
  // A browser that opens another file than the page shows it as text at most.
  ["content-security-policy", "default-src 'none'; frame-ancestors 'none'"],
];

/**
 * Returns the content security policy of the page. The page may load and run files of this server and elements with the
 * nonce, and may call only this server.
 */
function policyOf(nonce: string): string {
  return [
    "default-src 'none'",
    `script-src 'self' 'nonce-${nonce}'`,
    `style-src 'self' 'nonce-${nonce}'`,
    "img-src 'self' data: blob:",
    "media-src blob: data:",
    "font-src 'self'",
    "connect-src 'self'",
    "frame-src blob:",
    "worker-src 'self' blob:",
    "base-uri 'self'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join("; ");
}

/**
 * The files of the built web app. All are read at once, so that a name in a request only selects one of them and never
 * becomes a path.
 */
export class ConsoleFiles {
  readonly #page: string;
  readonly #assets: ReadonlyMap<string, Asset>;

  /** @throws the system's error if the web app has not been built */
  constructor(folder: URL = consoleFolder.url()) {
    this.#page = readFileSync(new URL("index.html", folder), "utf8");
    this.#assets = assetsIn(new URL("assets/", folder));
  }

  /** Returns the page for a console below a path, which ends with a slash. */
  page(base: string): HttpResponse {
    const nonce = randomBytes(16).toString("base64");
    const headers = [...safeHeaders, ["content-security-policy", policyOf(nonce)], noStore] as const;
    const body = this.#page
      .replace(/<base href="\/"\s*\/?>/, () => `<base href="${escapedHtml(base)}">`)
      .replaceAll("__CSP_NONCE__", nonce);
    return { status: 200, type: "text/html; charset=utf-8", headers, body };
  }

  /** Returns a file by its name; undefined for a name that no file has. */
  asset(name: string, request: Pick<HttpRequest, "header">): HttpResponse | undefined {
    const asset = this.#assets.get(name);
    if (asset === undefined) return undefined;
    const { type, bytes, brotli } = asset;
    const isCompressed = brotli !== undefined && acceptsBrotli(request.header("accept-encoding"));
    const headers = [...safeHeaders, ...cached, ...(isCompressed ? [["content-encoding", "br"] as const] : [])];
    return { status: 200, type, headers, body: isCompressed ? brotli : bytes };
  }
}

/** Header of answers that no cache may keep. */
export const noStore = ["cache-control", "no-store"] as const;

/** The names of files change with their content. */
const cached = [
  ["cache-control", "public, max-age=31536000, immutable"],
  ["vary", "accept-encoding"],
] as const;

function assetsIn(folder: URL): Map<string, Asset> {
  const names = readdirSync(folder, { withFileTypes: true }).flatMap((entry) => (entry.isFile() ? [entry.name] : []));
  const bytesOf = (name: string): Uint8Array => readFileSync(new URL(encodeURIComponent(name), folder));
  return new Map(
    names
      .filter((name) => !name.endsWith(".br"))
      .map((name) => {
        const type = types[name.slice(name.lastIndexOf(".") + 1)] ?? "application/octet-stream";
        const brotli = names.includes(`${name}.br`) ? bytesOf(`${name}.br`) : undefined;
        return [name, { type, bytes: bytesOf(name), brotli }];
      }),
  );
}

function acceptsBrotli(header = ""): boolean {
  return header.split(",").some((each) => /^\s*br\s*(?:;|$)/i.test(each) && !/;\s*q=0(?:\.0*)?\s*(?:;|$)/i.test(each));
}

function escapedHtml(text: string): string {
  return text.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`);
}
