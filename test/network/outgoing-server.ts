import { generateKeyPairSync } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { artifact, completed, inputRequired } from "../../src/agent/event.js";
import { oauth2Scheme } from "../../src/auth/oauth2.js";
import { consoleFolder } from "../../src/console/folder.js";
import { slowReader } from "../../src/http/response.js";
import { createServer } from "../../src/server/create-server.js";
import { outgoingWait } from "../../src/service/outgoing-budget.js";
import { sqliteStore } from "../../src/store/sqlite/index.js";
import { operators } from "../admin/world.js";

/** A server in a process of its own, whose memory can be asked for. Arguments: a file for its tasks, limits and constants as JSON. */
const [file = "", limits = "{}", constants = "{}"] = process.argv.slice(2);
const { slowReaderMs = slowReader.timeoutMs, outgoingWaitMs = outgoingWait.timeoutMs } = JSON.parse(constants);
Object.assign(slowReader, { timeoutMs: slowReaderMs });
Object.assign(outgoingWait, { timeoutMs: outgoingWaitMs });

const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
const key = privateKey.export({ type: "pkcs8", format: "pem" }) as string;

/** A web app in place of the built one, with a file of its size. */
const app = pathToFileURL(`${file}-console/`);
mkdirSync(new URL("assets/", app), { recursive: true });
writeFileSync(new URL("index.html", app), `<base href="/"><p>${"x".repeat(4_000)}</p>`);
writeFileSync(new URL("assets/app.js", app), "x".repeat(500_000));
consoleFolder.url = () => app;

const flows = { clientCredentials: { tokenUrl: "https://issuer.example/token", scopes: {} } };
const oauth = oauth2Scheme({ issuer: "https://issuer.example", audience: "big", flows });

const server = await createServer({
  agent: {
    security: { schemes: { oauth }, require: [{}, "oauth"] },
    card: { name: "Big", description: "Makes large tasks.", version: "1.0.0" },
    // `flood <count> <bytes>` is over then, `pause <count> <bytes>` waits for its client.
    async *execute({ text }) {
      const [word, count, bytes] = text.split(" ");
      const piece = "x".repeat(Number(bytes));
      for (let i = 0; i < Number(count); i++) yield artifact({ name: "large", text: piece, append: i > 0 });
      if (word === "pause") yield inputRequired("More?");
      else yield completed();
    },
  },
  store: sqliteStore({ path: file, synchronous: "NORMAL" }),
  port: 0,
  grpcPort: 0,
  cardSigning: { keys: [{ key, kid: "card" }] },
  admin: { listen: "127.0.0.1:0", tokens: operators },
  console: true,
  limits: JSON.parse(limits),
});

process.on("message", () => {
  globalThis.gc?.();
  const { heapUsed, external } = process.memoryUsage();
  process.send?.({ held: heapUsed + external });
});
process.on("disconnect", () => process.exit());
const adminPort = Number(new URL(server.adminUrl ?? "").port);
process.send?.({ port: server.port, grpcPort: server.grpcPort, adminPort });
