import { it } from "vitest";
import { programs } from "../store/postgres/server.js";
import { runEngineSuite } from "./suite.js";

if (programs() === undefined) it.skip("needs a PostgreSQL server (Debian: apt-get install postgresql)", () => {});
else await runEngineSuite({ behind: "PostgreSQL", shared: true });
