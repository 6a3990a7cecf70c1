CREATE TABLE "projects" (
   "id" TEXT PRIMARY KEY,
   "name" TEXT NOT NULL,
   "tg_lead_group" TEXT,
   "tg_api_key" TEXT,
   "prompts" TEXT,
   "language" TEXT
);
CREATE UNIQUE INDEX "idx_projects_name"
    ON "projects" ("name");
CREATE TABLE "project_state" (
   "project_id" TEXT PRIMARY KEY REFERENCES "projects"("id"),
   "bot_url" TEXT,
   "options" TEXT,
   "generation" TEXT,
   "registered" TEXT
, collection TEXT, analyzer TEXT, analyzer_version INTEGER, k1 REAL, b REAL);
CREATE TABLE "bm25_indexes" (
   "project_id" TEXT PRIMARY KEY REFERENCES "projects"("id"),
   "vocab" TEXT,
   "idf" TEXT,
   "avg_dl" REAL,
   "num_docs" INTEGER,
   "updated_at" TEXT
);
