import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { type Format, idOf, mediaTypes } from "./files.js";

/** Pictures that are handed out by URL: files in a folder, each named by its content. */
export interface Pictures {
  /** Stores a picture and returns its URL. The same picture has the same URL. */
  save(bytes: Uint8Array, format: Format): Promise<string>;
  /** The picture at a URL of `save`; undefined for any other URL, which is not fetched. */
  read(url: string): Promise<Uint8Array | undefined>;
  close(): void;
}

const NAME = /^\/([0-9a-f]{32}\.(png|svg))$/;

/** Serves a folder of pictures on a port. */
export async function openPictures({ folder, port }: { folder: string; port: number }): Promise<Pictures> {
  await mkdir(folder, { recursive: true });
  const server = createServer(async (request, response) => {
    const [, name = "", format] = NAME.exec(request.url ?? "") ?? [];
    const bytes = await fileIn(folder, name);
    if (bytes === undefined) return response.writeHead(404).end();
    response.writeHead(200, {
      "content-type": mediaTypes[format as Format],
      "cache-control": "public, max-age=31536000, immutable",
      // A picture runs no script and loads nothing.
      "content-security-policy": "default-src 'none'; img-src data:; style-src 'unsafe-inline'; sandbox",
      "x-content-type-options": "nosniff",
    });
    return response.end(bytes);
  });
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    save: async (bytes, format) => {
      const name = `${idOf(bytes)}.${format}`;
      const written = join(folder, `${name}.${randomUUID()}`);
      await writeFile(written, bytes);
      await rename(written, join(folder, name));
      return `${origin}/${name}`;
    },
    read: async (url) => {
      const [, name = ""] = url.startsWith(`${origin}/`) ? (NAME.exec(url.slice(origin.length)) ?? []) : [];
      return fileIn(folder, name);
    },
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

async function fileIn(folder: string, name: string): Promise<Uint8Array | undefined> {
  if (name === "") return undefined;
  return readFile(join(folder, name)).catch(() => undefined);
}
