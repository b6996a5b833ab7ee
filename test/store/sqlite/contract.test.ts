import { contractOf } from "./contract.js";

contractOf({ shared: false });
