import { runEngineSuite } from "./suite.js";

await runEngineSuite({ behind: "SQLite", shared: false });
