package com.example.inventory

import java.time.Instant
import kotlin.math.*
import com.example.store.Store as Backend

/** How many of something are kept. */
const val CAPACITY_MAX = 64

typealias Listener = (Item) -> Unit

enum class Color { RED, GREEN }

sealed interface Event {
    data class Added(val item: Item) : Event
    object Cleared : Event
}

/** Something that is kept. */
@Serializable
data class Item(val name: String, var count: Int = 0) {
    val isEmpty: Boolean
        get() = count == 0

    fun take(amount: Int): Item {
        require(amount <= count) { "not enough" }
        return copy(count = count - amount)
    }

    companion object {
        const val NONE = "none"

        fun of(name: String) = Item(name)
    }
}

abstract class Shelf<T : Item>(private val store: Backend<T>) : Store<T>(), Closeable {
    private val items = mutableListOf<T>()

    constructor(name: String) : this(Backend(name))

    init {
        store.open()
    }

    abstract fun sort()

    // Adds one.
    suspend fun add(item: T) {
        items.add(item)
        store.listeners?.forEach { it.changed(item) }
    }
}

object Registry {
    fun find(name: String): Item? = null
}

fun String.toItem(): Item {
    fun clean(text: String) = text.trim()
    return Item.of(clean(this))
}

fun main() {
    val items = listOf("a", "b").map { it.toItem() }
    println(items)
}
