import { capabilityCases } from "./cases/capabilities.js";
import { extensionCases } from "./cases/extensions.js";
import { mediaTypeCases } from "./cases/media-types.js";
import { ownerCases } from "./cases/owners.js";
import { tenantCases } from "./cases/tenants.js";
import { validationCases } from "./cases/validation.js";
import { versionCases } from "./cases/versions.js";
import { runTable } from "./run.js";

runTable([
  ...validationCases,
  ...versionCases,
  ...extensionCases,
  ...tenantCases,
  ...mediaTypeCases,
  ...capabilityCases,
  ...ownerCases,
]);
