// The module that build.mjs makes.

declare module "made:worker" {
  const source: string;
  export default source;
}
