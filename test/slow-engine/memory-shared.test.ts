import { runEngineSuite } from "./suite.js";

await runEngineSuite({ behind: "memory", shared: true });
