import { grpcHttp } from "../support/drivers.js";
import { runTable } from "./run.js";
import { shortTable } from "./tables.js";

runTable(shortTable, { on: [grpcHttp] });
