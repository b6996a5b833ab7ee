import { readFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { root } from "../../e2e/support/build.js";

/**
 * Packages that the page imports by name, with the folder that contains them: that of the project or of these tests.
 */
const packages = {
  "@bufbuild/protobuf": "node_modules",
  "@connectrpc/connect": "node_modules",
  "@connectrpc/connect-web": "test/interop/node_modules",
};

/** Folders that this server's paths map to. */
const folders: Readonly<Record<string, string>> = {
  node_modules: "node_modules",
  test: "test",
  gen: "dist/gen",
  src: "dist/src",
  browser: "test/interop/browser",
};

/** Serves a page with its script from its own origin, without a bundler. Browsers import the packages unchanged. */
export async function servePage(): Promise<{ origin: string; close(): void }> {
  const server: Server = createServer((request, response) => {
    const [, folder = "", ...path] = (request.url ?? "/").split("/");
    if (folder === "") {
      response.setHeader("content-type", "text/html; charset=utf-8").end(page());
      return;
    }
    try {
      const text = readFileSync(join(root, folders[folder] ?? "nowhere", ...path));
      response.setHeader("content-type", "text/javascript; charset=utf-8").end(text);
    } catch {
      response.writeHead(404).end();
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const close = (): void => {
    server.close();
    server.closeAllConnections();
  };
  return { origin: `http://127.0.0.1:${port}`, close };
}

function page(): string {
  const imports = Object.fromEntries(Object.entries(packages).flatMap(entriesOf));
  return `<!doctype html>
<link rel="icon" href="data:," />
<script type="importmap">${JSON.stringify({ imports })}</script>
<script type="module" src="/browser/page.js"></script>`;
}

/** Every entry point of a package, with its path on this server. */
function entriesOf([name, folder]: [string, string]): [string, string][] {
  const { exports } = JSON.parse(readFileSync(join(root, folder, name, "package.json"), "utf8")) as {
    exports: Record<string, { import: string }>;
  };
  return Object.entries(exports).map(([entry, target]) => [join(name, entry), `/${join(folder, name, target.import)}`]);
}
