import { contractOf } from "./contract.js";

// A file of its own, so that both run at once.
contractOf({ shared: true });
