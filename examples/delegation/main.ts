import { start } from "./servers.js";

// In a clone, behind `npm ci`: npm run build && node --import tsx examples/delegation/main.ts
const { url, stop } = await start(Number(process.env.PORT ?? 8080));
process.stdout.write(`Two agents, of which one asks the other. Open ${url} and plan a trip. Ctrl-C ends both.\n`);
process.once("SIGINT", () => void stop());
